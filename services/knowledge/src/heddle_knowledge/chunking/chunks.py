"""From a document to the chunks that are embedded and found.

A chunk never crosses a heading or a page; only a title without text, or a few words above the
first subsection, are part of the chunk that follows. Whole blocks are packed together up to about
the target; a block over the longest is cut where it hurts least. A chunk is a part of the
document's text (`lay_out`), word for word; only above the later parts of a table its header is
repeated.
"""

from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from heddle_knowledge.chunking.options import DEFAULT, Chunking
from heddle_knowledge.chunking.parents import Passage, parents
from heddle_knowledge.chunking.splitting import Span, cut_block, overlapping
from heddle_knowledge.errors import UnreadableDocumentError
from heddle_knowledge.formats.blocks import Block, ParsedDocument, lay_out
from heddle_knowledge.formats.contents import is_title

MOST_CHUNKS = 30_000
"""Chunks that one document may have."""
REVISION = 9
"""Raise it when the same file would give other chunks: files are then ingested again."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage of a document.

    Attributes:
        text: At most `Chunking.longest` characters.
        heading: The titles of the sections around it, the outermost first.
        page: Its page, counted from 1, or None.
        ordinal: Its place in the document, counted from 0.
        parent_text: The passage with its surroundings: the largest section around it that has at
            most `Chunking.parent` characters, or as many neighbours as fit.
        start: Where it begins in the document's text, in characters.
        end: Where it ends, exclusive. `text` is what stands there, in a later part of a table
            under the table's header.
    """

    text: str
    heading: tuple[str, ...]
    page: int | None
    ordinal: int
    parent_text: str
    start: int
    end: int


def chunk(document: ParsedDocument, chunking: Chunking = DEFAULT) -> list[Chunk]:
    """Cut a document into chunks, in reading order.

    Raises:
        UnreadableDocumentError: There would be more than `MOST_CHUNKS`.
    """
    layout = lay_out(document.blocks)
    blocks = zip(document.blocks, layout.starts, strict=True)
    placed = [each for each in blocks if not each[0].is_furniture]
    passages = [
        Passage(span, heading, page)
        for (heading, page), blocks in groupby(placed, lambda at: (at[0].heading, at[0].page))
        for span in _packed(layout.text, list(blocks), chunking)
    ]
    passages = _without_crumbs(layout.text, passages, chunking)
    _check_number(len(passages), document.title)
    return [
        Chunk(
            text=passage.span.of(layout.text),
            heading=passage.heading,
            page=passage.page,
            ordinal=ordinal,
            parent_text=parent,
            start=passage.span.start,
            end=passage.span.end,
        )
        for ordinal, (passage, parent) in enumerate(
            zip(passages, parents(layout.text, passages, chunking.parent), strict=True)
        )
    ]


def _check_number(passages: int, title: str) -> None:
    if passages > MOST_CHUNKS:
        raise UnreadableDocumentError(
            f"{title!r} falls into {passages:,} passages; at most {MOST_CHUNKS:,} "
            "can be kept. Split it into smaller documents."
        )


def _packed(text: str, blocks: list[tuple[Block, int]], chunking: Chunking) -> list[Span]:
    """Join small blocks of one section, cut large ones, and let them overlap."""
    packed: list[Span] = []
    for span in (span for block, start in blocks for span in cut_block(block, start, chunking)):
        joined = _joined(packed[-1], span, chunking) if packed and not span.header else None
        if joined:
            packed[-1] = joined
        else:
            packed.append(span)
    if not chunking.overlap:
        return packed
    later = (overlapping(text, before, span, chunking) for before, span in pairwise(packed))
    return [*packed[:1], *later]


def _without_crumbs(text: str, passages: list[Passage], chunking: Chunking) -> list[Passage]:
    """Join a few words above a subsection with its first passage, and drop titles that stand alone.

    Such a title is in the headings of other passages, or of none, if its text is furniture.
    """
    joined: list[Passage] = []
    for passage in reversed(passages):
        below = joined[-1] if joined else None
        if below and _is_above(passage, below, chunking):
            joined[-1] = replace(below, span=replace(below.span, start=passage.span.start))
        elif not is_title(passage.span.of(text), "".join(passage.heading[-1:])):
            joined.append(passage)
    return joined[::-1] or passages


def _is_above(crumb: Passage, below: Passage, chunking: Chunking) -> bool:
    depth = len(crumb.heading)
    return (
        crumb.span.size <= chunking.crumb
        and crumb.page == below.page
        and depth < len(below.heading)
        and below.heading[:depth] == crumb.heading
        and not below.span.header
        and below.span.end - crumb.span.start <= chunking.longest
    )


def _joined(before: Span, span: Span, chunking: Chunking) -> Span | None:
    both = Span(before.start, span.end, before.header, before.table or span.table)
    crumb = min(before.size, span.size) < chunking.crumb
    return both if both.size <= chunking.target + (chunking.crumb if crumb else 0) else None
