"""Pages and searches of lists."""

from collections.abc import Iterable
from typing import TypeVar

from google.protobuf.message import Message
from heddle_conversion.identifiers import row_id
from heddle_runtime.contract.paging import read_token
from heddle_runtime.errors import InvalidRequestError, Violation
from sqlalchemy import Column, ColumnElement, func, or_, true

MessageT = TypeVar("MessageT", bound=Message)
_LARGEST_PAGE = 16 * 1024 * 1024  # bytes, half of what a message may have
LONGEST_TEXT = 200
"""The maximum length of a text to search for."""


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


def contains(text: str, *columns: Column[str]) -> ColumnElement[bool]:
    """Return the condition that a column contains the `text` of a request, in any case of letters.

    Databases know the case of other letters than A to Z to a different extent.

    Raises:
        InvalidRequestError: The text is too long.
    """
    check_length(text)
    if not text:
        return true()
    text = text.replace("\0", "\ufffd").lower()  # PostgreSQL neither stores nor compares NUL
    return or_(*(func.lower(each).contains(text, autoescape=True) for each in columns))


def check_length(text: str) -> None:
    """Check the `text` of a request for which lists are searched.

    Raises:
        InvalidRequestError: It is too long.
    """
    if len(text) > LONGEST_TEXT:
        violation = Violation("text", f"must be at most {LONGEST_TEXT} characters")
        raise InvalidRequestError("The text is too long.", [violation])
