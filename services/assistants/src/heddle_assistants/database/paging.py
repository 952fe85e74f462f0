"""Pages of lists in the order of ids."""

from collections.abc import Iterable
from typing import TypeVar

from google.protobuf.message import Message
from heddle_conversion.identifiers import row_id
from heddle_runtime.contract.paging import read_token
from heddle_runtime.errors import InvalidRequestError, Violation

MessageT = TypeVar("MessageT", bound=Message)
_LARGEST_PAGE = 16 * 1024 * 1024  # bytes, half of what a message may have


def fitting(messages: Iterable[MessageT]) -> list[MessageT]:
    """Return the first messages that fit into one page; at least one if there is any."""
    page: list[MessageT] = []
    room = _LARGEST_PAGE
    for message in messages:
        room -= message.ByteSize()
        if page and room < 0:
            break
        page.append(message)
    return page


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
