"""Cutting documents into chunks: nothing lost, nothing too large, nothing across a heading."""

import re
from itertools import pairwise

import pytest
from heddle_tools_service.knowledge.blocks import Block, ParsedDocument
from heddle_tools_service.knowledge.chunks import (
    LONGEST,
    LONGEST_PARENT,
    MOST_CHUNKS,
    TARGET,
    chunk,
    cut,
)
from heddle_tools_service.knowledge.errors import UnreadableDocumentError
from hypothesis import given
from hypothesis import strategies as st
from runtime.examples import examples

LINE = st.text(alphabet="abc .!?\n\t-|`é語。", min_size=1, max_size=400)
TEXT = st.builds(lambda line, times: line * times, LINE, st.integers(1, 30)).filter(str.strip)
HEADING = st.lists(st.sampled_from(["A", "B", "C"]), max_size=2).map(tuple)
BLOCK = st.builds(Block, TEXT, HEADING, st.sampled_from([None, 1, 2]))
DOCUMENT = st.builds(
    lambda blocks: ParsedDocument("title", tuple(blocks)), st.lists(BLOCK, max_size=12)
)


def solid(text: str) -> str:
    return re.sub(r"\s", "", text)


@examples(300)
@given(DOCUMENT)
def test_chunks_are_the_document_in_order_and_in_bounds(document: ParsedDocument) -> None:
    chunks = chunk(document)
    assert solid("".join(c.text for c in chunks)) == solid("".join(b.text for b in document.blocks))
    assert [c.ordinal for c in chunks] == list(range(len(chunks)))
    for piece in chunks:
        assert 0 < len(piece.text) <= LONGEST
        assert piece.text in piece.parent_text
        assert len(piece.parent_text) <= LONGEST_PARENT
    sections = [(c.heading, c.page) for c in chunks]
    wanted = [(b.heading, b.page) for b in document.blocks]
    assert [s for s, t in pairwise([*sections, None]) if s != t] == [
        s for s, t in pairwise([*wanted, None]) if s != t
    ]


@given(TEXT)
def test_cutting_loses_only_white_space(text: str) -> None:
    assert solid("".join(cut(text))) == solid(text)


def test_small_paragraphs_are_joined_up_to_the_target() -> None:
    document = ParsedDocument("t", tuple(Block(f"Paragraph {n}. " * 10) for n in range(12)))
    sizes = [len(c.text) for c in chunk(document)]
    assert max(sizes) <= TARGET
    assert sum(sizes) / len(sizes) > TARGET / 2


def test_prose_is_cut_after_sentences() -> None:
    pieces = cut("This is a sentence of some words, and it goes on. " * 60)
    assert all(piece.endswith(".") for piece in pieces)
    assert all(TARGET / 2 < len(piece) < TARGET * 1.5 for piece in pieces[:-1])


def test_tables_and_code_are_cut_between_lines() -> None:
    rows = [f"| row {n}. with a sentence. in it | {n} |" for n in range(60)]
    assert [line for piece in cut("\n".join(rows)) for line in piece.split("\n")] == rows


def test_a_word_longer_than_a_chunk_is_cut_anyway() -> None:
    assert cut("x" * 2_000) == ["x" * 900, "x" * 900, "x" * 200]


def test_the_parent_is_the_largest_section_that_fits() -> None:
    document = ParsedDocument(
        "t",
        (
            Block("x " * 1_200, ("One",)),
            Block("first", ("Two", "a")),
            Block("second", ("Two", "b")),
        ),
    )
    last = chunk(document)[-1]
    assert last.text == "second"
    assert last.parent_text == "first\n\nb\n\nsecond"


def test_the_parent_in_a_long_section_is_the_neighbourhood() -> None:
    document = ParsedDocument("t", tuple(Block(f"Number {n}. " * 40) for n in range(20)))
    middle = chunk(document)[10]
    assert "Number 9." in middle.parent_text
    assert "Number 11." in middle.parent_text
    assert LONGEST < len(middle.parent_text) <= LONGEST_PARENT


def test_a_document_of_too_many_passages_is_refused() -> None:
    blocks = tuple(Block("x", (str(n),)) for n in range(MOST_CHUNKS + 1))
    with pytest.raises(UnreadableDocumentError, match="Split it"):
        chunk(ParsedDocument("huge", blocks))
