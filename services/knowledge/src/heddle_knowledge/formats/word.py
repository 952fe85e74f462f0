"""Word's .docx: its text with headings, lists and tables, tracked changes as accepted."""

from contextlib import suppress
from datetime import UTC, datetime
from io import BytesIO

from docx.opc.constants import RELATIONSHIP_TYPE as RT
from docx.opc.package import OpcPackage
from docx.opc.part import Part
from docx.oxml.ns import nsmap, qn
from docx.package import Package

from heddle_knowledge.errors import UnreadableDocumentError
from heddle_knowledge.formats.archives import check_archive
from heddle_knowledge.formats.blocks import Block, Outline, ParsedDocument, table_lines
from heddle_knowledge.formats.word_styles import Styles
from heddle_knowledge.formats.word_text import Notes, text_of, within
from heddle_knowledge.formats.word_xml import Element, has, root_of

_PARAGRAPH, _TABLE, _ROW, _CELL = qn("w:p"), qn("w:tbl"), qn("w:tr"), qn("w:tc")


def read_word(data: bytes, name: str) -> ParsedDocument:
    """Read a document without its headers, footers, comments and hidden text.

    Args:
        data: The file.
        name: The document's name, for messages.

    Returns:
        Its text; the title is that of its properties, else of its first heading.

    Raises:
        UnreadableDocumentError: It is damaged, encrypted, too large unpacked, or no .docx.
    """
    check_archive(data, name)
    try:
        package = Package.open(BytesIO(data))
        part = package.main_document_part
        body = root_of(part).find("w:body", nsmap)
        if body is not None:
            return _read(package, part, body)
    except (MemoryError, RecursionError):
        raise
    except Exception as error:  # what a broken file makes of the libraries is anyone's guess
        raise _damaged(name) from error
    raise _damaged(name)


def _damaged(name: str) -> UnreadableDocumentError:
    return UnreadableDocumentError(
        f"{name!r} is damaged or no Word document. Open it in an office program and save it again "
        "as .docx."
    )


def _read(package: OpcPackage, part: Part, body: Element) -> ParsedDocument:
    reader = _Reader(part)
    reader.read(body)
    title, time = _properties(package)
    return ParsedDocument(title or reader.first_heading, reader.finish(), time)


def _properties(package: OpcPackage) -> tuple[str, datetime | None]:
    with suppress(KeyError, ValueError, AttributeError):
        package.part_related_by(RT.CORE_PROPERTIES)  # without it the library makes up its own
        known = package.core_properties
        time = known.modified or known.created
        aware = time.replace(tzinfo=time.tzinfo or UTC).astimezone(UTC) if time else None
        return " ".join(known.title.split()), aware
    return "", None


class _Reader:
    def __init__(self, part: Part) -> None:
        self.first_heading = ""
        self._outline = Outline()
        self._styles = Styles(part)
        self._notes = Notes(part)
        self._items: list[str] = []
        self._carried = ""

    def finish(self) -> tuple[Block, ...]:
        """End what is still open and return the blocks."""
        self._end_list()
        self._outline.add(self._carried)
        return self._outline.finish()

    def read(self, container: Element) -> None:
        """Read the paragraphs and tables of the body, or of a frame around parts of it."""
        for element in within(container, {_PARAGRAPH, _TABLE}):
            if element.tag == _TABLE:
                self._table(element)
            else:
                self._paragraph(element)

    def _paragraph(self, paragraph: Element) -> None:
        if self._styles.is_contents(paragraph):
            return
        text = self._carried + text_of(paragraph, self._notes)
        self._carried = ""
        if has(paragraph, "w:pPr/w:rPr/w:del"):
            self._carried = text  # its end was deleted: the next paragraph goes on with it
            return
        level = self._styles.level(paragraph)
        if level is not None and text.strip():
            self._end_list()
            words = " ".join(text.split())
            self.first_heading = self.first_heading or words
            self._outline.enter(level, words)
        elif label := self._styles.label(paragraph) if text.strip() else "":
            indent = "\n" + " " * len(label)
            self._items.append(label + text.strip().replace("\n", indent))
            return
        else:
            self._end_list()
            self._outline.add(text)
        self._add_notes()

    def _table(self, table: Element) -> None:
        self._end_list()
        rows = [row for row in within(table, {_ROW}) if not has(row, "w:trPr/w:del")]
        cells = [list(within(row, {_CELL})) for row in rows]
        if len(rows) == 1 and len(cells[0]) == 1:  # a frame around text
            self.read(cells[0][0])
            self._end_list()
            return
        named = sum(has(row, "w:trPr/w:tblHeader") for row in rows)
        text, header = table_lines(
            ([text_of(cell, self._notes) for cell in row] for row in cells), max(named, 1)
        )
        self._outline.add(text, header=header)
        self._add_notes()

    def _end_list(self) -> None:
        if self._items:
            self._outline.add("\n".join(self._items))
            self._items = []
            self._add_notes()

    def _add_notes(self) -> None:
        for note in self._notes.take():
            self._outline.add(note)
