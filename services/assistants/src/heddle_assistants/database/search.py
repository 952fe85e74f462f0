"""Searches for a text in columns."""

from sqlalchemy import Column, ColumnElement, func, or_, true


def contains(text: str, *columns: Column[str]) -> ColumnElement[bool]:
    """Return the condition that a column contains a text, in upper or lower case.

    Databases know the case of other letters than A to Z to a different extent.
    """
    if not text:
        return true()
    text = text.replace("\0", "\ufffd").lower()  # PostgreSQL neither stores nor compares NUL
    return or_(*(func.lower(each).contains(text, autoescape=True) for each in columns))
