"""Searches for a text in columns."""

from heddle_runtime.errors import InvalidRequestError, Violation
from sqlalchemy import Column, ColumnElement, func, or_, true

LONGEST_TEXT = 200
"""The maximum length of a text to search for."""


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
