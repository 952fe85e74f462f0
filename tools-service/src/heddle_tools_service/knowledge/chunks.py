"""From a document to the chunks that are embedded and found.

A chunk never crosses a heading or a page. Whole blocks are packed together up to about `TARGET`
characters; a block over `LONGEST` is cut where it hurts least. Joined without white space, the
chunks are the document again.
"""

import re
from dataclasses import dataclass
from itertools import groupby

from heddle_tools_service.knowledge.blocks import Block, ParsedDocument
from heddle_tools_service.knowledge.errors import UnreadableDocumentError

TARGET = 450
"""Characters that a chunk aims at: the model was trained on passages of this size."""
LONGEST = 900
"""Characters that no chunk exceeds: about the 256 tokens that the model reads."""
LONGEST_PARENT = 2_000
"""Characters that no parent text exceeds."""
MOST_CHUNKS = 30_000
"""Chunks that one document may have."""
REVISION = 1
"""Raise it when the same file would give other chunks, so that it is ingested anew."""

_CRUMB = 120  # a piece that means little alone may stretch the chunk beside it by as much
_BLANK = re.compile(r"\n\s*\n")
_LINE = re.compile(r"\n")
_SENTENCE = re.compile(r"(?<=[.!?…。])[\"')\]]*\s|(?<=[。！？])")  # noqa: RUF001 (full-width marks end sentences too)
_SPACE = re.compile(r"\s")
_LISTED = re.compile(r"[ \t]*(?:```|~~~|\||[-*+] |\d+[.)] )|(?: {4}|\t)")

_Section = tuple[str | int | None, ...]


@dataclass(frozen=True, slots=True)
class Chunk:
    """One passage of a document.

    Attributes:
        text: At most `LONGEST` characters.
        heading: The titles of the sections around it, the outermost first.
        page: Its page, counted from 1, or None.
        ordinal: Its place in the document, counted from 0.
        parent_text: The passage with its surroundings: the largest section around it that has at
            most `LONGEST_PARENT` characters, or as many neighbours as fit.
    """

    text: str
    heading: tuple[str, ...]
    page: int | None
    ordinal: int
    parent_text: str


@dataclass(frozen=True, slots=True)
class _Passage:
    text: str
    heading: tuple[str, ...]
    page: int | None

    def section(self) -> _Section:
        return (*self.heading, self.page)


def chunk(document: ParsedDocument) -> list[Chunk]:
    """Cut a document into chunks, in reading order.

    Raises:
        UnreadableDocumentError: There would be more than `MOST_CHUNKS`.
    """
    passages = [
        _Passage(text, heading, page)
        for (heading, page), blocks in groupby(document.blocks, lambda b: (b.heading, b.page))
        for text in _packed(list(blocks))
    ]
    if len(passages) > MOST_CHUNKS:
        raise UnreadableDocumentError(
            f"{document.title!r} falls into {len(passages):,} passages; at most {MOST_CHUNKS:,} "
            "can be kept. Split it into smaller documents."
        )
    return [
        Chunk(passage.text, passage.heading, passage.page, ordinal, _parent(passages, ordinal))
        for ordinal, passage in enumerate(passages)
    ]


def _packed(blocks: list[Block]) -> list[str]:
    """Join small blocks of one section and cut large ones."""
    packed: list[str] = []
    for piece in (piece for block in blocks for piece in cut(block.text)):
        joined = len(packed[-1]) + 2 + len(piece) if packed else 0
        crumb = packed and min(len(packed[-1]), len(piece)) < _CRUMB
        if packed and joined <= TARGET + (_CRUMB if crumb else 0):
            packed[-1] += "\n\n" + piece
        else:
            packed.append(piece)
    return packed


def cut(text: str) -> list[str]:
    """Cut a text of more than `LONGEST` characters into pieces near `TARGET`.

    Only white space is lost, at the cuts. Lists, tables and code are cut between lines; prose
    after a sentence; either at any white space, and in the middle of a word if there is none.
    """
    pieces: list[str] = []
    preferred = (_BLANK, _LINE, _SPACE) if _LISTED.match(text) else (_BLANK, _SENTENCE, _SPACE)
    start = 0
    while len(text) - start > LONGEST:
        end = _cut_at(text, start, preferred)
        pieces.append(text[start:end].rstrip())
        start = end
        while start < len(text) and text[start] == "\n":
            start += 1
    pieces.append(text[start:].rstrip())
    return [piece for piece in pieces if piece.strip()]


def _cut_at(text: str, start: int, preferred: tuple[re.Pattern[str], ...]) -> int:
    """Find the end of the next piece: the best kind of break, the one nearest to the target."""
    wanted = start + TARGET
    for kind, reach in zip(preferred, (TARGET // 2, TARGET // 2, TARGET), strict=True):
        low, high = wanted - reach, wanted + min(reach, LONGEST - TARGET)
        ends = [found.end() for found in kind.finditer(text, max(low, start + 1), high)]
        if ends:
            return min(ends, key=lambda end: abs(end - wanted))
    return start + LONGEST


def _parent(passages: list[_Passage], ordinal: int) -> str:
    """Return the largest section around a passage that fits, or the neighbours that fit."""
    section = passages[ordinal].section()
    for depth in range(len(section) + 1):
        around = _around(passages, ordinal, section[:depth])
        if around is not None:
            return _joined(passages[around[0] : around[1]])
    first = last = ordinal
    while True:
        grown = [
            (low, high)
            for low, high in ((first, last + 1), (first - 1, last))
            if low >= 0
            and high < len(passages)
            and passages[low].section() == passages[high].section() == section
            and len(_joined(passages[low : high + 1])) <= LONGEST_PARENT
        ]
        if not grown:
            return _joined(passages[first : last + 1])
        # Grow on the side that has less so far, so that the passage stays in the middle.
        first, last = min(grown, key=lambda span: abs((span[1] - ordinal) - (ordinal - span[0])))


def _around(passages: list[_Passage], ordinal: int, section: _Section) -> tuple[int, int] | None:
    """Return the range of the passages that share the beginning of a section, if it fits."""
    depth = len(section)
    first, end = ordinal, ordinal + 1
    size = len(passages[ordinal].text)
    while first and passages[first - 1].section()[:depth] == section and size <= LONGEST_PARENT:
        first -= 1
        size += len(passages[first].text)
    while (
        end < len(passages)
        and passages[end].section()[:depth] == section
        and size <= LONGEST_PARENT
    ):
        size += len(passages[end].text)
        end += 1
    if size > LONGEST_PARENT or len(_joined(passages[first:end])) > LONGEST_PARENT:
        return None
    return first, end


def _joined(passages: list[_Passage]) -> str:
    """Join passages, each new section under its title."""
    parts: list[str] = []
    heading = passages[0].heading
    for passage in passages:
        if passage.heading != heading and passage.heading:
            parts.append(passage.heading[-1])
        heading = passage.heading
        parts.append(passage.text)
    return "\n\n".join(parts)
