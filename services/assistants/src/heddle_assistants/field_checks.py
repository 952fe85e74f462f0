"""Checks texts of requests that become columns."""

import re
from collections.abc import Mapping

from heddle_conversion.identifiers import DELETED_OWNER
from heddle_conversion.processors import current_connector
from heddle_runtime.contract.limits import MAX_OWNER_CHARACTERS
from heddle_runtime.errors import InvalidRequestError, Violation

NAME = r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}"
"""The pattern of names. Imported ones begin with the number of their creator: `7_tutor`."""
_RULE = "must be at most 128 letters, digits, - or _, the first one a letter or digit"
NO_USER = "is not the e-mail address of a user"
_NUL = "must not contain the character NUL"


def name_violations(name: str, field: str) -> list[Violation]:
    """Return the faults of a new name. Existing names stay valid, whatever they are."""
    if re.fullmatch(NAME, name, re.ASCII):
        return []
    return [Violation(field, _RULE if name else "is required")]


def nul_violations(texts: Mapping[str, object], prefix: str) -> list[Violation]:
    """Return the texts that PostgreSQL cannot store.

    Args:
        texts: The values by the names of their fields; only texts count.
        prefix: The path before those names in the request.
    """
    wrong = [name for name, text in texts.items() if isinstance(text, str) and "\0" in text]
    return [Violation(f"{prefix}{name}", _NUL) for name in wrong]


def deprecated_connector(name: object, field: str) -> list[Violation]:
    """Return a warning about a connector's old name."""
    if not isinstance(name, str) or (current := current_connector(name)) == name:
        return []
    return [Violation(field, f"is the deprecated name of the connector {current!r}")]


def require(is_fulfilled: bool, field: str, problem: str) -> None:  # noqa: FBT001 - a condition
    """Refuse a request whose field does not fulfil a condition.

    Raises:
        InvalidRequestError: It does not; the violation says what is wrong.
    """
    if not is_fulfilled:
        raise InvalidRequestError("The request is not valid.", [Violation(field, problem)])


def may_be_user(owner: str) -> bool:
    """Return whether a user of this name can own a new assistant: deleted ones have no owner."""
    return owner != DELETED_OWNER and len(owner) <= MAX_OWNER_CHARACTERS


def refuse_nul(texts: Mapping[str, object], prefix: str) -> None:
    """Refuse texts that PostgreSQL cannot store.

    Args:
        texts: The values by the names of their fields; only texts count.
        prefix: The path before those names in the request.

    Raises:
        InvalidRequestError: One does.
    """
    if violations := nul_violations(texts, prefix):
        raise InvalidRequestError("A text cannot be kept.", violations)
