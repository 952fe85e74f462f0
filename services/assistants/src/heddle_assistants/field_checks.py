"""Texts of requests that become columns."""

import re
from collections.abc import Mapping

from heddle_conversion.identifiers import DELETED_OWNER
from heddle_conversion.processors import current_connector
from heddle_runtime.errors import InvalidRequestError, Violation
from heddle_runtime.limits import MAX_OWNER_CHARACTERS

NAME = r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}"
"""LAMB's names begin with the number of whoever made them, `7_tutor`."""
_RULE = "must be at most 128 letters, digits, - or _, the first one a letter or digit"
NO_USER = "is not the e-mail address of a user"
_NUL = "must not contain the character NUL"


def name_violations(name: str, field: str) -> list[Violation]:
    """Return what is wrong with a new name. What has a name keeps it, whatever it is."""
    if re.fullmatch(NAME, name, re.ASCII):
        return []
    return [Violation(field, _RULE if name else "is required")]


def nul_violations(texts: Mapping[str, object], prefix: str) -> list[Violation]:
    """Return the texts that PostgreSQL cannot store.

    Args:
        texts: By the name of the field; what is no text is passed over.
        prefix: What stands before that name in the request.
    """
    wrong = [name for name, text in texts.items() if isinstance(text, str) and "\0" in text]
    return [Violation(f"{prefix}{name}", _NUL) for name in wrong]


def deprecated_connector(name: object, field: str) -> list[Violation]:
    """Return a warning about a connector's old name."""
    if not isinstance(name, str) or (current := current_connector(name)) == name:
        return []
    return [Violation(field, f"is the deprecated name of the connector {current!r}")]


def may_be_user(owner: str) -> bool:
    """Say whether a new assistant's owner can be a user: what is deleted belongs to none."""
    return owner != DELETED_OWNER and len(owner) <= MAX_OWNER_CHARACTERS


def refuse_nul(texts: Mapping[str, object], prefix: str) -> None:
    """Refuse texts that hold what PostgreSQL cannot keep.

    Args:
        texts: By the name of the field; what is no text is passed over.
        prefix: What stands before that name in the request.

    Raises:
        InvalidRequestError: One does.
    """
    if violations := nul_violations(texts, prefix):
        raise InvalidRequestError("A text cannot be kept.", violations)
