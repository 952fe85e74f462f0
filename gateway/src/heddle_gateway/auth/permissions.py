"""Permissions that the gateway itself checks. Services check their own."""

from heddle_runtime.call_metadata import caller
from heddle_runtime.errors import NotFoundError, PermissionDeniedError
from heddle_runtime.permissions import may_own


def check_readable(reference: str, *, readable: bool) -> None:
    """Answer about an assistant that the caller may not read as if there were none.

    Raises:
        NotFoundError: The caller may not read it.
    """
    if not readable:
        raise NotFoundError(f"No assistant is named {reference!r}.", assistant=reference)


def check_may_create() -> None:
    """Check that the caller may create assistants.

    Raises:
        PermissionDeniedError: The caller may not.
    """
    if not may_own(caller().identity):
        raise PermissionDeniedError("The key of an organisation owns nothing. Use a user's key.")
