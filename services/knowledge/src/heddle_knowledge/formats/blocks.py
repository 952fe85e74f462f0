"""The form that every document takes once it is read: blocks of text under headings.

One below the other they are one text, in which character offsets count.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import takewhile

_GAP = "\n\n"


@dataclass(frozen=True, slots=True)
class Block:
    """One paragraph, list, table, code fence, or part of a page.

    Attributes:
        text: Its text, line breaks and indentation as in the source.
        heading: The titles of the sections around it, the outermost first.
        page: Its page, counted from 1; None where the format has no pages.
        header: Of a table with a line for each row, the lines at its beginning that name the
            columns, maybe none; None where the block is no table.
        is_furniture: Whether it is a running head, the number of a page or a line of contents,
            which belongs to the text and to no passage.
    """

    text: str
    heading: tuple[str, ...] = ()
    page: int | None = None
    header: str | None = None
    is_furniture: bool = False


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """A document's text in reading order, and what it says of itself.

    Attributes:
        title: For people; a reader leaves it empty where the document has none.
        blocks: The text.
        time: When the document was last changed or else made, as it says, in UTC; or None.
        pages: How many pages it has, with or without text; 0 where the format has none.
        unread: Its pages that show pictures and have no text, counted from 1.
        metadata: What it says of itself besides.
    """

    title: str
    blocks: tuple[Block, ...]
    time: datetime | None = None
    pages: int = 0
    unread: tuple[int, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Section:
    level: int
    title: str
    used: bool = False


class Outline:
    """Collects blocks while a reader walks through a document, and keeps track of the headings."""

    def __init__(self, *, titled_text: bool = False) -> None:
        """Begin outside of every section.

        Args:
            titled_text: The titles of sections stand in the blocks too, as on pages, so that a
                section without text is nothing.
        """
        self._titled_text = titled_text
        self._open: list[_Section] = []
        self._blocks: list[Block] = []

    @property
    def has_text(self) -> bool:
        """Whether any block was added yet."""
        return bool(self._blocks)

    def enter(self, level: int, title: str) -> None:
        """Begin a section; 1 is the highest level. Sections of this level or lower end here."""
        while self._open and self._open[-1].level >= level:
            self._leave()
        if title.strip():
            self._open.append(_Section(level, " ".join(title.split())))

    def add(
        self,
        text: str,
        page: int | None = None,
        header: str | None = None,
        *,
        is_furniture: bool = False,
    ) -> None:
        """Add a block to the current section; blank text is nothing. See `Block`."""
        if not text.strip():
            return
        for section in self._open:
            section.used = True
        heading = tuple(section.title for section in self._open)
        self._blocks.append(Block(text.strip("\n").rstrip(), heading, page, header, is_furniture))

    def finish(self) -> tuple[Block, ...]:
        """End every section and return the blocks."""
        while self._open:
            self._leave()
        return tuple(self._blocks)

    def _leave(self) -> None:
        section = self._open.pop()
        if (
            not section.used and not self._titled_text
        ):  # a heading with nothing under it would be lost otherwise
            self.add(section.title)


def table_lines(rows: Iterable[Iterable[str]], headers: int = 1) -> tuple[str, str]:
    """Write a table: a line for each row with text, bars between its cells.

    Args:
        rows: Its cells.
        headers: How many rows at its beginning name the columns.

    Returns:
        All lines, and those of the header.
    """
    lines = [line for row in rows if (line := _line(row))]
    return "\n".join(lines), "\n".join(lines[:headers])


def _line(cells: Iterable[str]) -> str:
    written = [" ".join(cell.split()) for cell in cells]
    return " | ".join(written).rstrip(" |").lstrip() if any(written) else ""


@dataclass(frozen=True, slots=True)
class Layout:
    """The text of a document, and where each of its blocks begins in it."""

    text: str
    starts: tuple[int, ...]


def lay_out(blocks: Iterable[Block]) -> Layout:
    """Write blocks one below the other, each new section under its title.

    Pages show the titles of their sections themselves; above their blocks stands none.
    """
    parts: list[str] = []
    starts: list[int] = []
    size = 0
    heading: tuple[str, ...] = ()
    for block in blocks:
        titles = () if block.page is not None else _opened(heading, block.heading)
        heading = block.heading
        for part in (*titles, block.text):
            parts.append(part)
            size += len(part) + len(_GAP)
        starts.append(size - len(block.text) - len(_GAP))
    return Layout(_GAP.join(parts), tuple(starts))


def _opened(before: tuple[str, ...], now: tuple[str, ...]) -> tuple[str, ...]:
    """Return the titles of the sections that begin between two blocks."""
    same = takewhile(lambda pair: pair[0] == pair[1], zip(before, now, strict=False))
    return now[sum(1 for _ in same) :]
