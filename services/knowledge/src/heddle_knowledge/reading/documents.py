"""From the bytes of a file to its title and its blocks of text.

Reading happens in a process of its own (`worker`), because PDFs and web pages come from
strangers and their parsers are C code; `parse` itself is plain and synchronous.
"""

import codecs
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import PurePosixPath
from types import MappingProxyType

from heddle_knowledge.errors import UnreadableDocumentError
from heddle_knowledge.formats.blocks import ParsedDocument, lay_out
from heddle_knowledge.formats.captions import SECONDS, read_captions
from heddle_knowledge.formats.markdown import read_markdown
from heddle_knowledge.formats.pdf import read_pdf
from heddle_knowledge.formats.plain import read_plain
from heddle_knowledge.formats.rows import read_rows
from heddle_knowledge.formats.webpage import declared_charset, read_webpage
from heddle_knowledge.formats.word import read_word
from heddle_knowledge.reading.admission import MARKDOWN, PDF, WORD, check_size, media_type_of

LARGEST_TEXT = 10_000_000
"""Characters that one document may have: at about 15 chunks a second, half an hour of embedding."""

_CAPTIONS = frozenset({"text/vtt", "application/x-subrip"})
_WEB = frozenset({"text/html", "application/xhtml+xml"})
_PLAIN = frozenset({"application/json", "application/toml", "application/xml", "application/yaml"})
_SECONDS = re.compile(r"[1-9][0-9]{0,3}")
_SEPARATORS = MappingProxyType({"text/csv": "", "text/tab-separated-values": "\t"})
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is how this one begins
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def parse(
    data: bytes, *, media_type: str, name: str, scanned: Mapping[int, str] = MappingProxyType({})
) -> ParsedDocument:
    """Read a document.

    Args:
        data: The file, at most `LARGEST_DOCUMENT` bytes.
        media_type: Its type; a `charset` parameter is honoured. Empty: by the name.
        name: The document's name, for messages and as the title of last resort.
        scanned: The texts of pages of a PDF that have no text layer, by their numbers from 1.

    Returns:
        The title, the document's own time if it tells one, and at least one block; no text of the
        document is left out except what its format calls invisible or navigation.

    Raises:
        UnreadableDocumentError: The type is not supported, or the file is empty, too large,
            damaged, encrypted or in an unknown encoding. The message names the document.
    """
    check_size(data, name)
    kind, parameters = _kind(media_type, name)
    if kind == PDF:
        document = read_pdf(data, name, scanned)
    elif kind == WORD:
        document = read_word(data, name)
    else:
        read, charset = _text_reader(kind, data, name)
        if kind in _CAPTIONS:
            read = partial(read_captions, seconds=_seconds(parameters))
        document = read(_decoded(data, name, _parameter(parameters, "charset") or charset))
    _check_length(sum(len(block.text) for block in document.blocks), name)
    return replace(document, title=document.title or PurePosixPath(name).name or name)


def text_of(data: bytes, *, media_type: str, name: str) -> str:
    """Return the text of a document. That of PDFs, Word and web pages has no marks of its layout.

    Raises:
        UnreadableDocumentError: As of `parse`.
    """
    check_size(data, name)
    kind, parameters = _kind(media_type, name)
    if kind in {PDF, WORD} | _WEB | _CAPTIONS:
        return lay_out(parse(data, media_type=media_type, name=name).blocks).text
    _text_reader(kind, data, name)
    text = _decoded(data, name, _parameter(parameters, "charset"))
    _check_length(len(text.strip()), name)
    return text


def _kind(media_type: str, name: str) -> tuple[str, str]:
    kind, _, parameters = (media_type or media_type_of(name)).partition(";")
    return kind.strip().lower(), parameters


def _check_length(length: int, name: str) -> None:
    if not length:
        raise UnreadableDocumentError(
            f"{name!r} holds no text. If it is a scan, recognise its text (OCR) and ingest it "
            "again."
        )
    if length > LARGEST_TEXT:
        raise UnreadableDocumentError(
            f"{name!r} has {length:,} characters; at most {LARGEST_TEXT:,} can be kept. "
            "Split it into smaller documents."
        )


def _text_reader(kind: str, data: bytes, name: str) -> tuple[Callable[[str], ParsedDocument], str]:
    """Choose the reader of a textual type, and the encoding that the file itself declares."""
    if kind in _WEB:
        return read_webpage, declared_charset(data)
    if kind in MARKDOWN:
        return read_markdown, ""
    if kind in _SEPARATORS:
        return partial(read_rows, separator=_SEPARATORS[kind]), ""
    if kind.startswith("text/") or kind in _PLAIN | _CAPTIONS:
        return read_plain, ""
    raise UnreadableDocumentError(
        f"{name!r} is of type {kind!r}, which cannot be read. Convert it to Markdown, plain text, "
        "HTML, CSV, Word's .docx or PDF, or state its real type."
    )


def _decoded(data: bytes, name: str, charset: str) -> str:
    """Turn bytes into text: by byte order mark, else declared encoding, else UTF-8."""
    encoding = charset or "utf-8"
    for mark, marked in _MARKS:
        if data.startswith(mark):
            data, encoding = data[len(mark) :], marked
            break
    try:
        text = data.decode(encoding)
    except (UnicodeError, LookupError) as error:
        raise UnreadableDocumentError(
            f"{name!r} is not text in the encoding {encoding!r}. Save it as UTF-8, or state the "
            "charset in its media type."
        ) from error
    if "\0" in text:
        raise UnreadableDocumentError(
            f"{name!r} is binary, not text. State its real type, or convert it to text."
        )
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _seconds(parameters: str) -> int:
    """Return the length in seconds of the sections of captions, a parameter of this service."""
    text = _parameter(parameters, "seconds")
    return int(text) if _SECONDS.fullmatch(text) else SECONDS


def _parameter(parameters: str, key_name: str) -> str:
    for parameter in parameters.split(";"):
        key, _, value = parameter.partition("=")
        if key.strip().lower() == key_name:
            return value.strip().strip('"')
    return ""
