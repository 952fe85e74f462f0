"""Names of functions, as models write them."""

import re

from heddle_connector.toolcalls.functions import Functions
from heddle_connector.toolcalls.scanners import Scan, within
from heddle_connector.toolcalls.source import Source

MAX_NAME_LENGTH = 256
_WORD = re.compile(r"[^\s<>()\[\]{}\"'`|｜,;=]*+")
WIDE = re.compile(r"[^<>{}\n]*+")  # where a bracket ends the name, it may hold blanks
_NUMBERED = re.compile(r"(?:functions\.)?(.+?):\d{1,9}\Z")
_ATTRIBUTES = re.compile(r"[^<>]*+")
_ATTRIBUTE = re.compile(r"""([\w-]+)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'>/]++))""")
# Other words of a tag, where `_ATTRIBUTE` is replaced by `"`: a mark without a value, a prefix.
_REST = re.compile(r"""[\w:.-]*+"*+(?:\s++[\w:.-]*+"*+)*+/?+\s*+""", re.ASCII)
_ENTITIES = (("&quot;", '"'), ("&apos;", "'"), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))


def name(source: Source, before: str) -> Scan[str | None]:
    """Take a name; None if none is there. `before` is what follows the name in the format."""
    allowed = WIDE if before.startswith(">") else _WORD
    text = yield from within(source, allowed, MAX_NAME_LENGTH)
    return text.strip().strip("\"'").strip() or None


def attributes(source: Source) -> Scan[dict[str, str]]:
    """Take attributes up to the end of the tag; a self-closing tag has one with the name `/`.

    A tag that holds something else has none: it is no tag, or one that the model has broken.
    """
    text = yield from within(source, _ATTRIBUTES, 4 * MAX_NAME_LENGTH)
    if not _REST.fullmatch(_ATTRIBUTE.sub('"', text)):
        return {}
    matched = {}
    for key, double, single, undelimited in _ATTRIBUTE.findall(text):
        value = double or single or undelimited
        for entity, character in _ENTITIES:
            value = value.replace(entity, character)
        matched[key] = value
    if text.rstrip().endswith("/"):
        matched["/"] = ""
    return matched


def without_number(text: str, functions: Functions) -> str:
    """Return NAME of `functions.NAME:0`."""
    if text in functions:
        return text
    match = _NUMBERED.match(text)
    return match.group(1) if match else text.removeprefix("functions.")
