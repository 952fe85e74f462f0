"""Removes secrets, and on request personal data, from text that people read.

A secret is a registered value (`register_secrets`), a key in a documented format, or a value that
the text beside it names: a password in a configuration, JSON, a URL, a header, a cookie or a
command line, also if the text is percent-encoded, escaped or in Base64. The time is linear in the
length of the text. See docs/adr/0059.
"""

from collections.abc import Mapping
from typing import Any

from heddle_runtime.redaction import (
    command_lines,
    decoding,
    headers,
    key_formats,
    named_values,
    personal_data,
    private_keys,
    urls,
)
from heddle_runtime.redaction.judgement import is_secret_member
from heddle_runtime.redaction.registered import known_secrets, register_secrets, register_values
from heddle_runtime.redaction.scan import MAX_CANDIDATES, REDACTED, RuleSet, replace

__all__ = [
    "MAX_CANDIDATES",
    "REDACTED",
    "known_secrets",
    "redact",
    "redact_personal",
    "redact_registered",
    "redact_value",
    "register_secrets",
    "register_values",
]

_KEYS = RuleSet(key_formats.RULES[:1], (decoding.PATTERN,))
"""A separate set: with others, RE2's automaton would exceed its memory."""
_NAMED = (
    *key_formats.RULES[1:],
    *private_keys.RULES,
    *urls.RULES,
    *headers.RULES,
    *named_values.RULES,
    *command_lines.RULES,
)
_SECRETS = (_KEYS, RuleSet(_NAMED))
_PERSONAL = (_KEYS, RuleSet((*_NAMED, *personal_data.RULES)))


def redact(text: str) -> str:
    """Return `text` with every secret replaced by `[redacted]`.

    Escape sequences of terminals are removed with a secret that they surround or split. After
    2,000 places that may be secrets, the rest of the text is replaced as a whole, which limits the
    time for hostile text.
    """
    return replace(text, known_secrets(), _SECRETS)


def redact_personal(text: str) -> str:
    """Return `text` without secrets and without e-mail addresses, for traces and exports."""
    return replace(text, known_secrets(), _PERSONAL)


def redact_registered(text: str) -> str:
    """Return `text` without the registered secrets. Fast enough for every result of a tool."""
    return replace(text, known_secrets())


def redact_value(value: Any, name: str = "", *, personal: bool = False) -> Any:  # noqa: ANN401 - any JSON value
    """Return a JSON value with secrets replaced, by the names of members and by their text.

    Args:
        value: The value.
        name: The name of the member that holds it.
        personal: Whether e-mail addresses are replaced as well.
    """
    if name and is_secret_member(name, value):
        return REDACTED
    match value:
        case str():
            return redact_personal(value) if personal else redact(value)
        case Mapping():
            return {
                key: redact_value(item, str(key), personal=personal) for key, item in value.items()
            }
        case list() | tuple():
            return [redact_value(item, personal=personal) for item in value]
        case _:
            return value
