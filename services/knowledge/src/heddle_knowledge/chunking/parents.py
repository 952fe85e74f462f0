"""The section around a chunk, which answers with more context than the chunk alone."""

from collections.abc import Sequence
from dataclasses import dataclass

from heddle_knowledge.chunking.splitting import Span

_Section = tuple[str | int | None, ...]


@dataclass(frozen=True, slots=True)
class Passage:
    """A span of the document's text and where it stands."""

    span: Span
    heading: tuple[str, ...]
    page: int | None

    @property
    def section(self) -> _Section:
        """What tells the section from others."""
        return (*self.heading, self.page)


def parent(text: str, passages: Sequence[Passage], ordinal: int, longest: int) -> str:
    """Return the largest section around a passage that fits, or the neighbours that fit."""
    section = passages[ordinal].section
    around = None
    for depth in range(len(section) + 1):
        around = around or _whole(passages, ordinal, section[:depth], longest)
    first, last = around or _neighbourhood(passages, ordinal, longest)
    found = text[passages[first].span.start : passages[last].span.end]
    header = passages[ordinal].span.header
    return found if header in found else f"{header}\n{found}"


def _whole(
    passages: Sequence[Passage], ordinal: int, section: _Section, longest: int
) -> tuple[int, int] | None:
    """Return the first and last passage that share the beginning of a section, if it fits."""
    depth = len(section)
    first = last = ordinal
    while first and passages[first - 1].section[:depth] == section:
        first -= 1
        if not _fits(passages, first, last, ordinal, longest):
            return None
    while last + 1 < len(passages) and passages[last + 1].section[:depth] == section:
        last += 1
        if not _fits(passages, first, last, ordinal, longest):
            return None
    return (first, last) if _fits(passages, first, last, ordinal, longest) else None


def _neighbourhood(passages: Sequence[Passage], ordinal: int, longest: int) -> tuple[int, int]:
    """Grow around a passage within its own section, and keep it in the middle."""
    section = passages[ordinal].section
    first = last = ordinal
    while True:
        grown = [
            (low, high)
            for low, high in ((first, last + 1), (first - 1, last))
            if low >= 0
            and high < len(passages)
            and passages[low].section == passages[high].section == section
            and _fits(passages, low, high, ordinal, longest)
        ]
        if not grown:
            return first, last
        # Grow on the side that has less so far.
        first, last = min(grown, key=lambda ends: abs((ends[1] - ordinal) - (ordinal - ends[0])))


def _fits(passages: Sequence[Passage], first: int, last: int, ordinal: int, longest: int) -> bool:
    header = passages[ordinal].span.header
    room = longest - (len(header) + 1 if header else 0)
    return passages[last].span.end - passages[first].span.start <= room
