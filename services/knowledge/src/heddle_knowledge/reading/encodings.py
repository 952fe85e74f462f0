"""The encoding of a text: by its mark, its declaration or its bytes, as in browsers."""

import codecs
from contextlib import suppress
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
_TEXT_BLOCKS = 8
"""Blocks of 256 characters that a text in UTF-16 without a mark may have, so that it is no data."""
_CONTROLS = 0.02
"""The share of control characters beyond which bytes are no text."""


def decoded(data: bytes, name: str, stated: str, declared: str = "") -> tuple[str, str]:
    """Turn bytes into text.

    Args:
        data: The text, with or without a mark of its encoding.
        name: The document's name, for messages.
        stated: The encoding that its sender states; empty if none is.
        declared: The encoding that the text itself declares, which counts unless it is unknown or
            the bytes contradict it.

    Returns:
        The text with line breaks as line feeds, and the name of the encoding: that of its mark,
        else the stated or declared one, else UTF-8 or UTF-16 if it is valid, else Windows-1252.

    Raises:
        UnreadableDocumentError: It is binary, or not in the stated encoding.
    """
    data, encoding = _recognised(data, name, stated, declared)
    try:
        errors = "strict" if stated and encoding != _DEFAULT else "replace"
        text = data.decode(encoding or _DEFAULT, errors)
    except UnicodeError as error:
        raise UnreadableDocumentError(
            f"{name!r} is not text in the encoding {encoding!r}. Save it as UTF-8, or state the "
            "charset in its media type."
        ) from error
    if not encoding or "\0" in text:
        raise UnreadableDocumentError(
            f"{name!r} is binary, not text. State its real type, or convert it to text."
        )
    return text.replace("\r\n", "\n").replace("\r", "\n"), encoding


def _recognised(data: bytes, name: str, stated: str, declared: str) -> tuple[bytes, str]:
    for mark, marked in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :], marked
    if stated:
        try:
            return data, _meant(stated)
        except (LookupError, UnicodeError) as error:
            raise UnreadableDocumentError(
                f"{name!r} states the encoding {stated!r}, which is unknown. Save it as UTF-8, "
                "or state the charset in its media type."
            ) from error
    with suppress(LookupError, UnicodeError):
        encoding = _meant(declared)
        # A declaration that can be read as ASCII is in no encoding of two bytes a character.
        if not encoding.startswith("utf-16") and (encoding == _DEFAULT or data.decode(encoding)):
            return data, encoding
    return data, _guessed(data)


def _meant(label: str) -> str:
    """Return the encoding that a label means on the web.

    Raises:
        LookupError: It is unknown, as is `UnicodeError`.
    """
    canonical = codecs.lookup(label).name
    return _MEANT.get(canonical, canonical)


def _guessed(data: bytes) -> str:
    """Return the encoding that bytes without a declaration have; empty if they are no text."""
    sample = data[:_SAMPLE]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    blocks = sample[::2] if even > odd else sample[1::2]
    if min(even, odd) * 10 < max(even, odd) and len(set(blocks)) <= _TEXT_BLOCKS:
        return "utf-16-be" if even > odd else "utf-16-le"
    text = data.decode(errors="replace")
    broken = text.count("\ufffd")
    if not broken or 2 * broken < len(data) - len(text):  # characters of several bytes prevail
        return "utf-8"
    controls = len(sample) - len(sample.translate(None, _CONTROL))
    return "" if controls > _CONTROLS * len(sample) else _DEFAULT
