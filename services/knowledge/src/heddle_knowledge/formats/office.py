"""Word, PowerPoint, Excel, OpenDocument, RTF and EPUB: the model of anydoc as blocks of text."""

import re
import string
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby

import anydoc

from heddle_knowledge.errors import UnreadableDocumentError
from heddle_knowledge.formats.archives import check_archive, damaged, prepared
from heddle_knowledge.formats.blocks import Block, Outline, ParsedDocument, table_lines
from heddle_knowledge.formats.folios import roman
from heddle_knowledge.formats.scripts import formula
from heddle_knowledge.formats.symbols import WINGDINGS

_ARCHIVE = b"PK"
_SPACES = re.compile(r"[ \t]{2,}")
_SLIDE = re.compile(r"slide-(\d+)")
# Superscripts of RTF, unless they mark a note.
_RTF_SCRIPT = re.compile(rb"\\(super|sub|up[1-9]\d*|dn[1-9]\d*)((?:\\[a-z]+-?\d*)*) (?=[\w+-])")
_RTF_DELETED = re.compile(rb"\\deleted(?=[\\ ])")
_MAX_INDENTS = 16
"""Levels of lists that are indented. Lists in each other could multiply their text otherwise."""
_LONGEST_REPEATED = 200
"""Characters of a cell that stand again in each row that the cell covers."""


def read_office(data: bytes, name: str) -> ParsedDocument:
    """Read a document without its page headers, comments and hidden text, changes accepted.

    Args:
        data: The file.
        name: The document's name, for messages.

    Returns:
        Its text; the pages of presentations are their slides. The title is that of its
        properties, else of its first heading.

    Raises:
        UnreadableDocumentError: It is damaged, encrypted, too large unpacked, or of another type.
    """
    title, time = "", None
    try:
        if data.startswith(_ARCHIVE):
            check_archive(data, name)
            data, title, time = prepared(data)
        elif data.startswith(b"{\\rtf"):
            data = _RTF_SCRIPT.sub(_marked_script, _RTF_DELETED.sub(rb"\\strike", data))
        document = anydoc.to_document(data)
    except (MemoryError, RecursionError, UnreadableDocumentError):
        raise
    except anydoc.ResourceLimitError as error:
        raise UnreadableDocumentError(
            f"{name!r} is too large or nested too deep to read. Split it into smaller documents."
        ) from error
    except Exception as error:  # what a broken file makes of the libraries is anyone's guess
        raise damaged(name) from error
    text = blocks_of(document)
    return replace(text, title=title or text.title, time=time)


def blocks_of(document: anydoc.Document, headers: int = 1) -> ParsedDocument:
    """Return the text of a document of the library; its title is the first heading.

    Args:
        document: What the library read.
        headers: How many rows of a table name the columns if it does not say.
    """
    reader = _Reader(document, headers)
    blocks = reader.read()
    unseen = {"pictures_without_text": str(reader.pictures)} if reader.pictures else {}
    return ParsedDocument(reader.first_heading, blocks, pages=reader.slide or 0, metadata=unseen)


def _marked_script(match: re.Match[bytes]) -> bytes:
    sign = b"^" if match[1].startswith((b"super", b"up")) else b"_"
    return b"\\" + match[1] + match[2] + b" " + sign


class _Reader:
    def __init__(self, document: anydoc.Document, headers: int) -> None:
        self.first_heading = ""
        self.slide: int | None = None
        self.pictures = 0
        self._document = document
        self._headers = headers
        self._outline = Outline()
        self._notes = {note.id: note for note in document.notes}
        self._marks: dict[str, str] = {}
        self._waiting: list[str] = []
        self._depth = 0

    def read(self) -> tuple[Block, ...]:
        for is_list, group in groupby(self._document.blocks, lambda block: block.kind == "list"):
            if is_list:  # one that counts in steps of its own comes as several
                self._outline.add(self._text(group), self.slide)
                self._add_notes()
                continue
            for block in group:
                self._add(block)
                self._add_notes()
        return self._outline.finish()

    def _add_notes(self) -> None:
        while self._waiting:
            self._outline.add(self._waiting.pop(0), self.slide)

    def _add(self, block: anydoc.Block) -> None:
        if block.kind == "heading":
            self._add_heading(block)
        elif block.table and self._is_frame(block.table):
            for cell in _cells(block.table):
                for inner in cell.blocks:
                    self._add(inner)
        elif block.table:
            headers = block.table.header_rows or self._headers
            text, header = table_lines(self._rows(block.table), headers)
            self._outline.add(text, self.slide, header=header)
        else:
            self._outline.add(self._text([block]), self.slide)

    def _add_heading(self, block: anydoc.Block) -> None:
        words = " ".join(self._inline(block.content).split())
        self.first_heading = self.first_heading or words
        self._outline.enter(block.level or 1, words)
        if self.slide is not None:  # pages show their titles themselves
            self._outline.add(words, self.slide)

    @staticmethod
    def _is_frame(table: anydoc.Table) -> bool:
        """Return whether a table lays out text only."""
        return table.kind == "layout" or (len(table.grid) == 1 and len(table.grid[0]) == 1)

    def _text(self, blocks: Iterable[anydoc.Block]) -> str:
        """Return the text of blocks, each on lines of its own."""
        return "\n".join(filter(str.strip, map(self._block_text, blocks)))

    def _block_text(self, block: anydoc.Block) -> str:
        if block.list:
            return "\n".join(self._items(block.list))
        if block.table:
            return table_lines(self._rows(block.table))[0]
        if block.blocks is not None:
            notes = "Notes: " if self.slide is not None else ""
            return notes + self._text(block.blocks)
        if block.text is not None:
            return formula(block.text) if block.kind == "math" else block.text
        return self._inline(block.content)

    def _items(self, items: anydoc.List) -> Iterator[str]:
        indent = "  " if self._depth < _MAX_INDENTS else ""
        self._depth += 1
        for at, item in enumerate(items.items):
            label = item.marker_label or _label(items.marker, items.start + at)
            lines = [self._text(item.blocks[:1]).replace("\n", f"\n{indent}")]
            # What follows the first line of an item stands below it, lists within it indented.
            lines += [
                "\n".join(indent + line for line in text.split("\n"))
                for text in map(self._block_text, item.blocks[1:])
                if text.strip()
            ]
            yield f"{label} " + "\n".join(lines)
        self._depth -= 1

    def _rows(self, table: anydoc.Table) -> Iterator[list[str]]:
        """Yield the rows; a cell over several rows stands in each of them."""
        above: list[str] = []
        for number, row in enumerate(table.grid):
            texts: list[str] = []
            for at, slot in enumerate(row):
                covered = slot.origin_row is not None and slot.origin_row < number
                if slot.cell:
                    texts.append(self._text(slot.cell.blocks))
                elif covered and slot.origin_col == at and at < len(above):
                    texts.append(above[at][:_LONGEST_REPEATED])
                else:
                    texts.append("")
            above = texts
            yield texts

    def _inline(self, inlines: Iterable[anydoc.Inline] | None) -> str:
        return _SPACES.sub(" ", "".join(map(self._inline_text, inlines or ())))

    def _inline_text(self, inline: anydoc.Inline) -> str:
        if slide := _SLIDE.fullmatch(inline.anchor or ""):
            self.slide = int(slide[1])
        match inline.kind:
            case "note_ref":
                return self._refer(inline.note_id or "")
            case "math":
                return formula(inline.text or "")
            case "line_break":
                return "\n"
            case "image" if not inline.alt:
                self.pictures += 1
                return ""
            case "checkbox":
                return "[x]" if inline.checked else "[ ]"
            case _:
                text = inline.text or inline.alt or self._inline(inline.content)
                struck = inline.style is not None and inline.style.strike
                return f" ~~{text}~~ " if struck and text.strip() else text.translate(WINGDINGS)

    def _refer(self, note_id: str) -> str:
        """Return the mark of a note; the note itself follows the block that refers to it."""
        note = self._notes.get(note_id)
        if note is None or note_id in self._marks:
            return self._marks.get(note_id, "")
        mark = self._marks[note_id] = f"[{len(self._marks) + 1}]"
        self._waiting.append(f"{mark} {' '.join(self._text(note.blocks).split())}")
        return mark


def _cells(table: anydoc.Table) -> Iterator[anydoc.Cell]:
    return (slot.cell for row in table.grid for slot in row if slot.cell)


def _label(marker: str, number: int) -> str:
    """Return the label of an entry of a list: `-`, `5.`, `b.`, `iv.`."""
    if marker == "bullet":
        return "-"
    text = str(number)
    if marker.endswith("alpha") and 1 <= number <= len(string.ascii_lowercase):
        text = string.ascii_lowercase[number - 1]
    elif marker.endswith("roman"):
        text = roman(number) or text
    return f"{text.upper() if marker.startswith('upper') else text}."
