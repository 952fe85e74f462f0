"""Makes text of others valid Unicode. Protobuf, databases and JSON encoders refuse any other text.

A character beyond U+FFFF has two halves in UTF-16, its surrogates, which JSON can escape one by
one. Programs that cut text by UTF-16 units send a half alone. A byte that is not UTF-8 is a lone
surrogate too if Python decoded it with `surrogateescape`.
"""

import json
import re
from typing import Any

import msgspec

_BYTES = re.compile("(?<![\ud800-\udbff])[\udc80-\udcff]{2,}")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
# One escape of a JSON string: a pair of surrogates, a lone one (in the group), or another.
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


def valid_text(text: str) -> str:
    """Return `text` with the halves or bytes of a character joined, and lone ones as U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        text = _BYTES.sub(_decoded, text)
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def valid_json(text: str) -> str:
    """Return JSON text as `valid_text` does, and with the escapes of lone halves replaced."""
    text = valid_text(text)
    return _ESCAPE.sub(_replacement, text) if _SURROGATE.search(text) else text


def json_text(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return the JSON text of a value, valid also if texts in it are not."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        return valid_json(json.dumps(value, ensure_ascii=False))


def _decoded(run: re.Match[str]) -> str:
    return run[0].encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")


def _replacement(escape: re.Match[str]) -> str:
    return r"\ufffd" if escape[1] else escape[0]
