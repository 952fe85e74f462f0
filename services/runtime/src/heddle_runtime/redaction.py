"""Removes secrets and personal data from text that users or operators read."""

import re
from collections.abc import Mapping
from typing import Any

REDACTED = "[redacted]"
_SECRET_NAMES = re.compile(
    r"(api[-_]?key|secret|token|password|passwd|authorization|bearer|credential|cookie|private)",
    re.IGNORECASE,
)
# Bounded repetitions only: this reads text that strangers wrote.
_PATTERNS = re.compile(
    r"""
    \b[Bb]earer\s{1,3}(?=[^\s"',]{0,64}\d)[^\s"',]{8,4096}  # an authorization header
  | \b(?:sk|pk|rk|ghp|gho|ghs|xox[abps]|hf|gsk|glpat|AKIA|ASIA|AIza|pplx|tvly|r8|jina|lamb)
      [-_]?[A-Za-z0-9_-]{12,512}                            # a key with a well-known beginning
  | \bhk_[A-Za-z0-9_-]{12,512}                              # a key of Heddle's own
  | \beyJ[A-Za-z0-9_-]{8,4096}\.[A-Za-z0-9_-]{4,4096}(?:\.[A-Za-z0-9_-]{0,4096})?  # a JWT
  | \b[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{0,256}:[^\s/@]{1,256}@  # a URL with a password
  | (?<=[?&])(?:api_?key|key|token|access_token|wstoken|sig|signature)=[^\s&\#"']{4,1024}
  | -----BEGIN\ [A-Z ]{0,30}PRIVATE\ KEY-----[A-Za-z0-9+/=\s]{0,8192}
  | \b[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,4}\b  # an e-mail address
    """,
    re.VERBOSE,
)
_SHORTEST = 6
_MAX_CHARACTERS = 20_000


def redact(text: str) -> str:
    """Return `text` with everything that looks like a secret or an e-mail address replaced.

    Text beyond 20,000 characters is cut off: a log or a message needs no more, and the time that
    this takes stays bounded.
    """
    if len(text) < _SHORTEST:
        return text
    return _PATTERNS.sub(REDACTED, text[:_MAX_CHARACTERS])


def redact_value(value: Any, name: str = "") -> Any:  # noqa: ANN401 - any JSON value
    """Return a JSON value with secrets replaced, by the names of members and by their text."""
    if name and _SECRET_NAMES.search(name) and not isinstance(value, int | float | bool | None):
        return REDACTED
    match value:
        case str():
            return redact(value)
        case Mapping():
            return {key: redact_value(item, str(key)) for key, item in value.items()}
        case list() | tuple():
            return [redact_value(item) for item in value]
        case _:
            return value
