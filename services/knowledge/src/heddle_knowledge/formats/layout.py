"""A document as one text: what character offsets count in."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile

from heddle_knowledge.formats.blocks import Block

_GAP = "\n\n"


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
