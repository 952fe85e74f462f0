"""From the bytes of a file to its title and its blocks of text.

Reading happens in a process of its own (`worker`), because PDFs and web pages come from
strangers and their parsers are C code; `parse` itself is plain and synchronous.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import PurePosixPath
from types import MappingProxyType

from heddle_knowledge.errors import UnreadableDocumentError
from heddle_knowledge.formats.blocks import ParsedDocument, lay_out
from heddle_knowledge.formats.captions import SECONDS, read_captions
from heddle_knowledge.formats.mail import read_mail
from heddle_knowledge.formats.markdown import read_markdown
from heddle_knowledge.formats.notebook import read_notebook
from heddle_knowledge.formats.office import read_office
from heddle_knowledge.formats.pdf import read_pdf
from heddle_knowledge.formats.plain import read_plain, read_source_code
from heddle_knowledge.formats.rows import read_rows
from heddle_knowledge.formats.webpage import declared_charset, read_webpage
from heddle_knowledge.reading.admission import (
    MAIL,
    MARKDOWN,
    OFFICE,
    PDF,
    SOURCE_CODE,
    check_size,
    kind_of,
)
from heddle_knowledge.reading.encodings import decoded

LARGEST_TEXT = 10_000_000
"""Characters that one document may have: at about 15 chunks a second, half an hour of embedding."""

_CAPTIONS = frozenset({"text/vtt", "application/x-subrip"})
_WEB = frozenset({"text/html", "application/xhtml+xml"})
_PLAIN = frozenset({"application/json", "application/toml", "application/xml", "application/yaml"})
_SECONDS = re.compile(r"[1-9][0-9]{0,3}")
_READERS: Mapping[str, Callable[[str], ParsedDocument]] = MappingProxyType(
    {
        "application/x-ipynb+json": read_notebook,
        "text/csv": read_rows,
        "text/tab-separated-values": partial(read_rows, separator="\t"),
        SOURCE_CODE: read_source_code,
        **dict.fromkeys(_WEB, read_webpage),
        **dict.fromkeys(MARKDOWN, read_markdown),
    }
)
_BY_PROGRAMS = re.compile(
    r"about:blank|document\d*|microsoft \w+ - .*|powerpoint presentation|presentation\d*|untitled.*"
    r"|.*\.(docx?|indd|pptx?|qxd|tex|xlsx?)",
    re.IGNORECASE,
)
"""Titles that programs give by themselves: the name of the file says more."""
_UNSEEN = str.maketrans(dict.fromkeys("\u00ad\u200b\u2060\ufeff"))
"""Characters that show nothing and split words: they only say where a word may break."""


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
    kind, parameters = kind_of(data, media_type, name)
    if kind == PDF:
        document = read_pdf(data, name, scanned)
    elif kind in OFFICE:
        document = read_office(data, name)
    elif kind == MAIL:
        document = read_mail(data, _read_part)
    else:
        document = _read_text(kind, parameters, data, name)
    blocks = tuple(
        replace(
            block,
            text=block.text.translate(_UNSEEN),
            heading=tuple(title.translate(_UNSEEN) for title in block.heading),
        )
        for block in document.blocks
    )
    _check_length(sum(len(block.text) for block in blocks), name)
    title = "" if _BY_PROGRAMS.fullmatch(document.title) else document.title
    return replace(document, blocks=blocks, title=title or PurePosixPath(name).name or name)


def _read_part(data: bytes, media_type: str, name: str) -> ParsedDocument:
    """Read a part of a message; messages within messages are no deeper."""
    if kind_of(data, media_type, name)[0] == MAIL:
        return _read_text("text/plain", "", data, name)
    return parse(data, media_type=media_type, name=name)


def _read_text(kind: str, parameters: str, data: bytes, name: str) -> ParsedDocument:
    read = _text_reader(kind, name)
    if kind in _CAPTIONS:
        stated = _parameter(parameters, "seconds")  # of a section, a parameter of this service
        seconds = int(stated) if _SECONDS.fullmatch(stated) else SECONDS
        read = partial(read_captions, seconds=seconds)
    text, encoding = _text(kind, parameters, data, name)
    try:
        document = read(text)
    except ValueError as error:
        raise UnreadableDocumentError(
            f"{name!r} is damaged: {error}. Open it in the program that made it, and save it again."
        ) from error
    if encoding == "utf-8":
        return document
    called = encoding.replace("cp125", "windows-125")
    return replace(document, metadata={**document.metadata, "encoding": called})


def _text(kind: str, parameters: str, data: bytes, name: str) -> tuple[str, str]:
    declared = declared_charset(data) if kind in _WEB else ""
    return decoded(data, name, _parameter(parameters, "charset"), declared)


def text_of(data: bytes, *, media_type: str, name: str) -> str:
    """Return the text of a document. That of PDFs, Word and web pages has no marks of its layout.

    Raises:
        UnreadableDocumentError: As of `parse`.
    """
    check_size(data, name)
    kind, parameters = kind_of(data, media_type, name)
    if kind in {PDF, MAIL} | OFFICE | _WEB | _CAPTIONS:
        return lay_out(parse(data, media_type=media_type, name=name).blocks).text
    _text_reader(kind, name)
    text, _ = _text(kind, parameters, data, name)
    _check_length(len(text.strip()), name)
    return text


def _check_length(length: int, name: str) -> None:
    if not length:
        raise UnreadableDocumentError(
            f"{name!r} holds no text. If it is a scan, recognise its text (OCR) and add it again."
        )
    if length > LARGEST_TEXT:
        raise UnreadableDocumentError(
            f"{name!r} has {length:,} characters; at most {LARGEST_TEXT:,} can be kept. "
            "Split it into smaller documents."
        )


def _text_reader(kind: str, name: str) -> Callable[[str], ParsedDocument]:
    """Choose the reader of a textual type."""
    if kind in _READERS:
        return _READERS[kind]
    if kind.startswith("text/") or kind in _PLAIN | _CAPTIONS:
        return read_plain
    raise UnreadableDocumentError(
        f"{name!r} is of type {kind!r}, which cannot be read. Convert it to PDF, HTML, Markdown, "
        "plain text or a format of an office program."
    )


def _parameter(parameters: str, key_name: str) -> str:
    for parameter in parameters.split(";"):
        key, _, value = parameter.partition("=")
        if key.strip().lower() == key_name:
            return value.strip().strip('"')
    return ""
