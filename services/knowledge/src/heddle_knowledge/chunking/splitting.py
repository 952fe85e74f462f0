"""Splits a block that is too large for one chunk."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from heddle_knowledge.chunking.options import Chunking
from heddle_knowledge.formats.blocks import Block

_BLANK = re.compile(r"\n\s*\n")
_LINE = re.compile(r"\n")
_ITEM = re.compile(r"\n(?=(?:[-*+]|\d+[.)])[ \t])")
_SENTENCE = re.compile(r"(?<=[.!?…。])[\"')\]]*\s|(?<=[。！？])")  # noqa: RUF001 (full-width marks end sentences too)
_SPACE = re.compile(r"\s")
_LIST = re.compile(r"(?:[-*+]|\d+[.)])[ \t]")
_LISTED = re.compile(r"[ \t]*(?:```|~~~|\||[-*+] |\d+[.)] )|(?: {4}|\t)")
_HEADER_PART = 3  # a header over a third of a chunk would leave too little of it for the rows

_Breaks = tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a text.

    Attributes:
        start: Where it begins, in characters.
        end: Where it ends, exclusive.
        header: What is written above it because it stands there no more: the header of the table
            that it goes on with.
        table: Whether there is a table in it.
    """

    start: int
    end: int
    header: str = ""
    table: bool = False

    @property
    def size(self) -> int:
        """Characters that a chunk of it has."""
        return self.end - self.start + (len(self.header) + 1 if self.header else 0)

    def of(self, text: str) -> str:
        """Return the chunk."""
        cut = text[self.start : self.end]
        return f"{self.header}\n{cut}" if self.header else cut


def cut_block(block: Block, start: int, chunking: Chunking) -> list[Span]:
    """Cut a block that begins somewhere in the document's text; one that fits stays whole."""
    if block.header is None:
        return [
            replace(span, start=start + span.start, end=start + span.end)
            for span in cut(block.text, chunking.target, chunking.longest)
        ]
    if len(block.text) <= chunking.longest:
        return [Span(start, start + len(block.text), table=True)]
    return list(_cut_table(block.text, block.header, start, chunking))


def cut(text: str, target: int, longest: int) -> list[Span]:
    """Cut a text of more than `longest` characters into pieces near `target`.

    Only white space is lost, at the cuts. Lists are cut between items, code between paragraphs,
    else either between lines; prose after a sentence; all of them at any white space, and in the
    middle of a word if there is none.
    """
    spans: list[Span] = []
    preferred = _breaks(text)
    start = 0
    while len(text) - start > longest:
        end = _cut_at(text, start, preferred, target, longest)
        spans.append(_stripped(text, start, end))
        start = end
        while start < len(text) and text[start] == "\n":
            start += 1
    spans.append(_stripped(text, start, len(text)))
    return [span for span in spans if text[span.start : span.end].strip()]


def overlapping(text: str, before: Span, span: Span, chunking: Chunking) -> Span:
    """Let a span begin inside the one before it, at a sentence, a line, or any word.

    The parts of a table repeat its header instead.
    """
    low = max(before.start, span.start - chunking.overlap, span.end - chunking.longest)
    if span.table or before.table or low >= span.start:
        return span
    for kind in (_SENTENCE, _LINE, _SPACE):
        # From one character earlier, for a break may lie just before the first that may come.
        for boundary in kind.finditer(text, max(low - 1, before.start), span.start):
            if low <= boundary.end() < span.start and not text[boundary.end()].isspace():
                return replace(span, start=boundary.end())
    return span


def _breaks(text: str) -> _Breaks:
    if _LIST.match(text):
        return _ITEM, _LINE, _SPACE
    return (_BLANK, _LINE, _SPACE) if _LISTED.match(text) else (_BLANK, _SENTENCE, _SPACE)


def _cut_at(text: str, start: int, preferred: _Breaks, target: int, longest: int) -> int:
    """Find the end of the next piece: the best kind of break, the one nearest to the target."""
    target_end = start + target
    for kind, reach in zip(preferred, (target // 2, target // 2, target), strict=True):
        low, high = target_end - reach, target_end + min(reach, longest - target)
        ends = [boundary.end() for boundary in kind.finditer(text, max(low, start + 1), high)]
        if ends:
            return min(ends, key=lambda end: abs(end - target_end))
    return start + longest


def _stripped(text: str, start: int, end: int) -> Span:
    return Span(start, start + len(text[start:end].rstrip()))


def _cut_table(text: str, header: str, start: int, chunking: Chunking) -> Iterator[Span]:
    """Cut a table between rows; one row that is larger than a chunk is cut like prose."""
    repeated = header if len(header) <= chunking.longest // _HEADER_PART else ""
    part: Span | None = None
    for low, high in _rows(text, len(header)):
        above = repeated if low else ""
        row = Span(start + low, start + high, above, table=True)
        if part and part.size + 1 + row.end - row.start <= chunking.target:
            part = replace(part, end=row.end)
            continue
        if part:
            yield part
        part = row if row.size <= chunking.longest else None
        if part is None:
            room = chunking.longest - (len(above) + 1 if above else 0)
            for piece in cut(text[low:high], room // 2, room):
                yield replace(row, start=row.start + piece.start, end=row.start + piece.end)
    if part:
        yield part


def _rows(text: str, header: int) -> Iterator[tuple[int, int]]:
    """Yield where each row begins and ends; the first begins with the header."""
    start = 0
    end = text.find("\n", header + 1) if header else text.find("\n")
    while end >= 0:
        yield start, end
        start = end + 1
        end = text.find("\n", start)
    yield start, len(text)
