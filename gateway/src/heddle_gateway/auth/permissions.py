"""Permissions that the gateway itself checks. Services check their own."""

from heddle_runtime.errors import NotFoundError


def check_readable(reference: str, *, readable: bool) -> None:
    """Answer about an assistant that the caller may not read as if there were none.

    Raises:
        NotFoundError: The caller may not read it.
    """
    if not readable:
        raise NotFoundError(f"No assistant is named {reference!r}.", assistant=reference)
