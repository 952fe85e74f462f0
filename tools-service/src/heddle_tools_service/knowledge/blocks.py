"""The form that every document takes once it is read: blocks of text under headings."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Block:
    """One paragraph, list, table, code fence or page.

    Attributes:
        text: Its text, line breaks and indentation as in the source.
        heading: The titles of the sections around it, the outermost first.
        page: Its page, counted from 1; None where the format has no pages.
    """

    text: str
    heading: tuple[str, ...] = ()
    page: int | None = None


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """A document's title and its text in reading order."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(slots=True)
class _Section:
    level: int
    title: str
    used: bool = False


class Outline:
    """Collects blocks while a reader walks through a document, and keeps track of the headings."""

    def __init__(self) -> None:
        """Begin outside of every section."""
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

    def add(self, text: str, page: int | None = None) -> None:
        """Add a block to the current section; blank text is nothing."""
        if not text.strip():
            return
        for section in self._open:
            section.used = True
        heading = tuple(section.title for section in self._open)
        self._blocks.append(Block(text.strip("\n").rstrip(), heading, page))

    def finish(self) -> tuple[Block, ...]:
        """End every section and return the blocks."""
        while self._open:
            self._leave()
        return tuple(self._blocks)

    def _leave(self) -> None:
        section = self._open.pop()
        if not section.used:  # a heading with nothing under it would be lost otherwise
            self.add(section.title)
