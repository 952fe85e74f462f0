"""PDF: the text layer, page by page, under the titles of the document's bookmarks."""

from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from itertools import groupby, islice
from types import MappingProxyType

import pypdfium2  # type: ignore[import-untyped]  # ships no annotations

from heddle_knowledge.errors import UnreadableDocumentError
from heddle_knowledge.formats.blocks import Outline, ParsedDocument
from heddle_knowledge.formats.contents import bare, contents_of_pages
from heddle_knowledge.formats.dates import first_date
from heddle_knowledge.formats.folios import folios, running_heads
from heddle_knowledge.formats.pdf_lines import Line
from heddle_knowledge.formats.pdf_page import (
    FEWEST_CHARACTERS,
    has_picture,
    is_garbled,
    page_lines,
)
from heddle_knowledge.formats.pdf_titles import Title, titles_of_pages

MOST_PAGES = 5_000
_PASSWORD = 4  # FPDF_ERR_PASSWORD
_NUMBERING = 12
"""Letters and digits that may stand before a title, as the number of its section does."""
_MOST_BOOKMARKS = 20_000
_LONGEST_TITLE = 300


def read_pdf(
    data: bytes, name: str, scanned: Mapping[int, str] = MappingProxyType({})
) -> ParsedDocument:
    """Read the text layer of a PDF.

    Args:
        data: The file.
        name: The document's name, for messages.
        scanned: What was read off pages that are pictures, by their numbers from 1.

    Returns:
        Its text, a block for each part of a page that is of one section; title and time are those
        of its properties.

    Raises:
        UnreadableDocumentError: It is damaged, needs a password, or has too many pages.
    """
    try:
        with pypdfium2.PdfDocument(data) as document:
            if len(document) > MOST_PAGES:
                raise UnreadableDocumentError(
                    f"{name!r} has {len(document):,} pages; at most {MOST_PAGES:,} can be read. "
                    "Split it into smaller documents."
                )
            return _read(document, scanned)
    except pypdfium2.PdfiumError as error:
        if error.err_code == _PASSWORD:
            raise UnreadableDocumentError(
                f"{name!r} is encrypted. Remove its password and add it again."
            ) from error
        raise UnreadableDocumentError(
            f"{name!r} is damaged or no PDF. Open it in a viewer and save it again as PDF."
        ) from error


def _read(document: pypdfium2.PdfDocument, scanned: Mapping[int, str]) -> ParsedDocument:
    if document.get_formtype():
        document.init_forms()
    info = document.get_metadata_dict()
    outline = Outline(titled_text=True)
    pages = [_page(document, number, scanned) for number in range(len(document))]
    texts = [[line.text for line in page] for page in pages]
    unread = []
    for number, lines in enumerate(texts):
        text = "".join("".join(lines).split())
        garbled = is_garbled(text)
        if number + 1 not in scanned and (
            garbled or (len(text) < FEWEST_CHARACTERS and has_picture(document, number))
        ):
            unread.append(number + 1)
            if garbled:
                pages[number], texts[number] = [], []
    furniture = _furniture(texts)
    sections = _bookmarks_by_page(document) or titles_of_pages(pages, furniture)
    for number, (page, apart) in enumerate(zip(pages, furniture, strict=True)):
        _add_page(outline, page, apart, number + 1, sections.get(number, []))
    return ParsedDocument(
        title=" ".join(str(info.get("Title", "")).split()),
        blocks=outline.finish(),
        time=first_date(str(info.get("ModDate", "")), str(info.get("CreationDate", ""))),
        pages=len(document),
        unread=tuple(unread),
        metadata={"pages_without_text": str(len(unread))} if unread else {},
    )


def _page(document: pypdfium2.PdfDocument, number: int, scanned: Mapping[int, str]) -> list[Line]:
    if read := scanned.get(number + 1):
        return [Line(line) for line in read.split("\n")]
    return page_lines(document, number)


def _furniture(pages: list[list[str]]) -> list[set[int]]:
    """Return, for each page, which of its lines are running heads, folios or lines of contents.

    A document without any other text has these lines as its text.
    """
    heads = running_heads(pages)
    numbers = folios(_blanked(pages, heads))
    edges = [of_heads | of_numbers for of_heads, of_numbers in zip(heads, numbers, strict=True)]
    contents = contents_of_pages(_blanked(pages, edges))
    chosen = [of_edges | lines for of_edges, lines in zip(edges, contents, strict=True)]
    has_text = any(line.strip() for lines in _blanked(pages, chosen) for line in lines)
    return chosen if has_text else [set() for _ in pages]


def _blanked(pages: list[list[str]], chosen: list[set[int]]) -> list[list[str]]:
    return [
        ["" if at in blank else line for at, line in enumerate(lines)]
        for lines, blank in zip(pages, chosen, strict=True)
    ]


def _add_page(
    outline: Outline,
    lines: list[Line],
    furniture: set[int],
    page: int,
    sections: list[Title],
) -> None:
    """Add a page; a section begins at the line of its title, or where the one before it does."""
    to_find = any(section.line is None for section in sections)
    bare_lines = [
        "" if at in furniture else bare(line.text)
        for at, line in enumerate(lines if to_find else ())
    ]

    def add(start: int, end: int) -> None:
        def part(at: int) -> tuple[bool, int]:
            return at in furniture, lines[at].table

        for (is_furniture, table), places in groupby(range(start, end), part):
            rows = [lines[at] for at in places]
            header = "\n".join(row.text for row in rows if row.header) if table else None
            text = "\n".join(row.text for row in rows)
            outline.add(text, page, header, is_furniture=is_furniture)

    done = from_line = letters = 0
    last = ""
    for section in sections:
        title, at = bare(section.text), section.line
        if at is None:
            at = _line_of(title, bare_lines, from_line)
        if at is not None:
            above = bare("".join(line.text for line in lines[done:at]))
            if not last or not above.endswith(last) or len(above) > letters + _NUMBERING:
                add(done, at)
                done, letters = at, 0
            # A title alone is no passage: it stays with the next.
            from_line, last, letters = at, title, letters + len(title)
        outline.enter(section.level, section.text)
    add(done, len(lines))


def _line_of(title: str, lines: list[str], start: int) -> int | None:
    """Return the first line that shows a title, with its number or without, or begins it."""
    if not title:
        return None
    for at in range(start, len(lines)):
        below = lines[at + 1] if at + 1 < len(lines) else ""
        if _shows(lines[at], title):
            return at
        if len(below) < len(title) and lines[at] and _shows(lines[at] + below, title):
            return at  # a long title that goes on in the next line
    return None


def _shows(line: str, title: str) -> bool:
    return line.endswith(title) and len(line) - len(title) <= _NUMBERING


def _bookmarks_by_page(document: pypdfium2.PdfDocument) -> dict[int, list[Title]]:
    """Return the sections that begin on each page, pages counted from 0.

    Bookmarks that lead back, into another document, or nowhere are left out: what follows a
    page would not be their section.
    """
    by_page: dict[int, list[Title]] = defaultdict(list)
    last = 0
    for mark in islice(document.get_toc(), _MOST_BOOKMARKS):
        target = mark.get_dest()
        page = target.get_index() if target is not None else None
        title = ""
        with suppress(UnicodeError):
            title = " ".join(mark.get_title().split())[:_LONGEST_TITLE]
        if title and page is not None and last <= page < len(document):
            last = page
            by_page[page].append(Title(title, mark.level + 1))
    return by_page
