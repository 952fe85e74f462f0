"""The encoding of a text: by its mark, its declaration or its bytes, as in browsers."""

import codecs
from types import MappingProxyType

from heddle_knowledge.errors import UnreadableDocumentError

_DEFAULT = "cp1252"
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is how this one begins
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# The Encoding Standard of the web: what these labels mean is a larger set of characters.
_MEANT = MappingProxyType({
    "ascii": _DEFAULT, "iso8859-1": _DEFAULT, "iso8859-9": "cp1254", "iso8859-11": "cp874",
    "tis-620": "cp874", "gb2312": "gb18030", "gbk": "gb18030", "euc_kr": "cp949",
    "shift_jis": "cp932", "big5": "big5hkscs",
})  # fmt: skip
_SAMPLE = 4_096
_CONTROL = bytes({*range(32)} - {*b"\t\n\f\r\x1b\b"})
_NULLS = 0.15
"""The share of empty bytes, all in even or all in odd places, that Latin scripts have in UTF-16."""
_CONTROLS = 0.02
"""The share of control characters beyond which bytes are no text."""


def decoded(data: bytes, name: str, declared: str) -> tuple[str, str]:
    """Turn bytes into text.

    Args:
        data: The text, with or without a mark of its encoding.
        name: The document's name, for messages.
        declared: The encoding that it is said to have; empty if none is.

    Returns:
        The text with line breaks as line feeds, and the name of the encoding: that of its mark,
        else the declared one, else UTF-8 or UTF-16 if it is valid, else Windows-1252.

    Raises:
        UnreadableDocumentError: It is binary, or not in the declared encoding.
    """
    data, encoding = _recognised(data, name, declared)
    try:
        text = data.decode(encoding, "replace" if encoding == _DEFAULT else "strict")
    except UnicodeError as error:
        raise UnreadableDocumentError(
            f"{name!r} is not text in the encoding {encoding!r}. Save it as UTF-8, or state the "
            "charset in its media type."
        ) from error
    if "\0" in text:
        raise UnreadableDocumentError(
            f"{name!r} is binary, not text. State its real type, or convert it to text."
        )
    return text.replace("\r\n", "\n").replace("\r", "\n"), encoding


def _recognised(data: bytes, name: str, declared: str) -> tuple[bytes, str]:
    for mark, marked in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :], marked
    if declared:
        try:
            canonical = codecs.lookup(declared).name
        except (LookupError, UnicodeError) as error:
            raise UnreadableDocumentError(
                f"{name!r} states the encoding {declared!r}, which is unknown. Save it as UTF-8, "
                "or state the charset in its media type."
            ) from error
        return data, _MEANT.get(canonical, canonical)
    return data, _guessed(data)


def _guessed(data: bytes) -> str:
    sample = data[:_SAMPLE]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if abs(even - odd) > _NULLS * len(sample) and min(even, odd) * 10 < max(even, odd):
        return "utf-16-be" if even > odd else "utf-16-le"
    try:
        data.decode()
    except UnicodeDecodeError:
        controls = len(sample) - len(sample.translate(None, _CONTROL))
        return "utf-8" if controls > _CONTROLS * len(sample) else _DEFAULT
    return "utf-8"
