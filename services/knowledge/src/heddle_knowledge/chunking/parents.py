"""The section around a chunk, which answers with more context than the chunk alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

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
        """The key that identifies the section."""
        return (*self.heading, self.page)


def parents(text: str, passages: Sequence[Passage], longest: int) -> Iterator[str]:
    """Yield, for each passage, the largest section around it that fits, or what fits around it."""
    sections: dict[int, tuple[int, int]] = {}
    for depth in range(max((len(it.section) for it in passages), default=0) + 1):
        prefixes = [it.section[:depth] for it in passages]
        for _, group in groupby(range(len(passages)), prefixes.__getitem__):
            members = list(group)
            first, last = members[0], members[-1]
            for ordinal in members:
                if ordinal not in sections and _fits(passages, first, last, ordinal, longest):
                    sections[ordinal] = first, last
    for ordinal, passage in enumerate(passages):
        first, last = sections.get(ordinal) or _neighbourhood(passages, ordinal, longest)
        surroundings = text[passages[first].span.start : passages[last].span.end]
        header = passage.span.header
        yield surroundings if header in surroundings else f"{header}\n{surroundings}"


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
