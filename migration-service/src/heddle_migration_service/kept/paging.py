"""Pages of lists in the order of ids."""

from heddle_runtime.errors import InvalidRequestError, Violation
from heddle_runtime.paging import read_token

from heddle_migration_service.kept.row import row_id


def row_before(token: str) -> int:
    """Return the id after which the page of a token begins, 0 for the first page.

    Raises:
        InvalidRequestError: It is not a token of such a list.
    """
    number = row_id(read_token(token)) if token else 0
    if number is None:
        violation = Violation("page_token", "is not a token of this list")
        raise InvalidRequestError("The page token is not valid.", [violation])
    return number
