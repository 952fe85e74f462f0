"""Cutting documents into chunks: nothing lost, nothing too large, nothing across a heading."""

import re
from itertools import pairwise

import pytest
from heddle_knowledge.chunking.chunks import MOST_CHUNKS, chunk
from heddle_knowledge.chunking.options import Chunking
from heddle_knowledge.chunking.splitting import cut
from heddle_knowledge.errors import UnreadableDocumentError
from heddle_knowledge.formats.blocks import Block, ParsedDocument, lay_out
from heddle_knowledge.formats.contents import is_title
from hypothesis import given
from hypothesis import strategies as st
from runtime.examples import examples

DEFAULT = Chunking()
TARGET, LONGEST = DEFAULT.target, DEFAULT.longest
LINE = st.text(alphabet="abc .!?\n\t-|`é語。", min_size=1, max_size=400)
TEXT = st.builds(lambda line, times: line * times, LINE, st.integers(1, 30)).filter(str.strip)
HEADING = st.lists(st.sampled_from(["A", "B", "C"]), max_size=2).map(tuple)
PAGE = st.sampled_from([None, 1, 2])
ROW = st.text(alphabet="ab |", min_size=1, max_size=60).filter(lambda row: bool(row.strip()))


def table(rows: list[str], times: int, named: bool, heading: tuple[str, ...]) -> Block:
    lines = [row.strip() for row in rows] * times
    return Block("\n".join(lines), heading, header=lines[0] if named else "")


TABLE = st.builds(
    table, st.lists(ROW, min_size=1, max_size=6), st.integers(1, 30), st.booleans(), HEADING
)
BLOCK = st.one_of(st.builds(Block, TEXT, HEADING, PAGE), TABLE)
DOCUMENT = st.builds(
    lambda blocks: ParsedDocument("title", tuple(blocks)), st.lists(BLOCK, max_size=12)
)
CHUNKING = st.builds(
    lambda target, overlap, parent: Chunking(target, target * overlap // 100, target * parent),
    st.integers(100, 1_000),
    st.integers(0, 49),
    st.integers(1, 4),
)


def solid(text: str) -> str:
    return re.sub(r"\s", "", text)


def pieces_of(text: str) -> list[str]:
    return [text[span.start : span.end] for span in cut(text, TARGET, LONGEST)]


@examples(300)
@given(DOCUMENT, CHUNKING)
def test_chunks_are_the_document_in_order_and_in_bounds(
    document: ParsedDocument, chunking: Chunking
) -> None:
    chunks = chunk(document, chunking)
    text = lay_out(document.blocks).text
    covered = {at for piece in chunks for at in range(piece.start, piece.end)}
    starts = lay_out(document.blocks).starts
    for block, start in zip(document.blocks, starts, strict=True):
        lost = [
            text[at]
            for at in range(start, start + len(block.text))
            if not text[at].isspace() and at not in covered
        ]
        assert not lost or is_title(block.text, block.heading[-1])
    assert [c.ordinal for c in chunks] == list(range(len(chunks)))
    for piece in chunks:
        assert 0 < len(piece.text) <= chunking.longest
        assert text[piece.start : piece.end] in piece.parent_text
        assert len(piece.parent_text) <= max(chunking.parent, len(piece.text))
    assert {(c.heading, c.page) for c in chunks} <= {(b.heading, b.page) for b in document.blocks}


@examples(300)
@given(DOCUMENT, CHUNKING)
def test_a_chunk_is_what_stands_at_its_offsets_under_a_repeated_header_at_most(
    document: ParsedDocument, chunking: Chunking
) -> None:
    text = lay_out(document.blocks).text
    headers = {block.header for block in document.blocks if block.header}
    chunks = chunk(document, chunking)
    for piece in chunks:
        found = text[piece.start : piece.end]
        assert piece.text == found or piece.text.removesuffix("\n" + found) in headers
    for before, piece in pairwise(chunks):
        assert before.start <= piece.start <= piece.end
        assert before.end - piece.start <= chunking.overlap


@given(DOCUMENT)
def test_the_text_of_a_document_holds_each_block_where_it_says(document: ParsedDocument) -> None:
    layout = lay_out(document.blocks)
    for block, start in zip(document.blocks, layout.starts, strict=True):
        assert layout.text[start : start + len(block.text)] == block.text


def test_the_text_of_a_document_has_its_titles_but_not_above_pages() -> None:
    blocks = (Block("one", ("A", "B")), Block("two", ("A",)), Block("three", ("A", "C")))
    assert lay_out(blocks).text == "A\n\nB\n\none\n\ntwo\n\nC\n\nthree"
    assert lay_out([Block("1 One\ntext", ("One",), page=1)]).text == "1 One\ntext"


@given(TEXT)
def test_cutting_loses_only_white_space(text: str) -> None:
    assert solid("".join(pieces_of(text))) == solid(text)


def test_a_title_without_text_stands_above_what_follows_and_never_alone() -> None:
    blocks = (
        Block("Evaluation", ("Syllabus",)),
        Block("Five activities.", ("Syllabus", "Grades")),
        Block("4.2 Index", ("Syllabus", "Index")),
    )
    (only,) = chunk(ParsedDocument("t", blocks))
    assert only.text == "Evaluation\n\nGrades\n\nFive activities."
    assert only.heading == ("Syllabus", "Grades")
    (titles,) = chunk(ParsedDocument("t", blocks[2:]))
    assert titles.text == "4.2 Index"


def test_small_paragraphs_are_joined_up_to_the_target() -> None:
    document = ParsedDocument("t", tuple(Block(f"Paragraph {n}. " * 10) for n in range(12)))
    sizes = [len(c.text) for c in chunk(document)]
    assert max(sizes) <= TARGET
    assert sum(sizes) / len(sizes) > TARGET / 2


def test_prose_is_cut_after_sentences() -> None:
    pieces = pieces_of("This is a sentence of some words, and it goes on. " * 60)
    assert all(piece.endswith(".") for piece in pieces)
    assert all(TARGET / 2 < len(piece) < TARGET * 1.5 for piece in pieces[:-1])


def test_tables_and_code_are_cut_between_lines() -> None:
    rows = [f"| row {n}. with a sentence. in it | {n} |" for n in range(60)]
    assert [line for piece in pieces_of("\n".join(rows)) for line in piece.split("\n")] == rows


def test_a_word_longer_than_a_chunk_is_cut_anyway() -> None:
    assert pieces_of("x" * 2_000) == ["x" * 900, "x" * 900, "x" * 200]


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
    assert LONGEST < len(middle.parent_text) <= DEFAULT.parent


def test_a_document_of_too_many_passages_is_refused() -> None:
    blocks = tuple(Block("x", (str(n),)) for n in range(MOST_CHUNKS + 1))
    with pytest.raises(UnreadableDocumentError, match="Split it"):
        chunk(ParsedDocument("huge", blocks))


def test_a_table_that_fits_stays_whole_beside_long_text() -> None:
    rows = "\n".join(f"item {n} | {n}" for n in range(60))
    assert TARGET < len(rows) <= LONGEST
    text = Block("A sentence of prose. " * 15)
    chunks = chunk(ParsedDocument("t", (text, Block(rows, header="item 0 | 0"), text)))
    assert rows in [piece.text for piece in chunks]


def test_the_parts_of_a_large_table_begin_with_its_header() -> None:
    rows = [f"| item {n} | {n} |" for n in range(200)]
    header = "| name | price |\n|---|---|"
    block = Block("\n".join([header, *rows]), header=header)
    chunks = chunk(ParsedDocument("t", (Block("Prices:"), block)))
    assert chunks[0].text.startswith(f"Prices:\n\n{header}\n| item 0 |")
    assert all(piece.text.startswith(f"{header}\n| item ") for piece in chunks[1:])
    kept = [line for piece in chunks for line in piece.text.split("\n") if "item" in line]
    assert kept == rows
    assert all(header in piece.parent_text for piece in chunks)


def test_a_row_larger_than_a_chunk_is_cut_under_the_header() -> None:
    block = Block("a | b\n" + "long row " * 300 + "\nlast | row", header="a | b")
    chunks = chunk(ParsedDocument("t", (block,)))
    assert len(chunks) > 2
    assert chunks[-1].text == "a | b\nlast | row"
    assert all(len(piece.text) <= LONGEST for piece in chunks)


def test_a_list_is_cut_between_its_items() -> None:
    items = [f"- Item {n} has a line,\n  and another one. And more." for n in range(60)]
    pieces = pieces_of("\n".join(items))
    assert len(pieces) > 2
    assert all(piece.startswith("- Item") for piece in pieces)


def test_passages_overlap_by_whole_sentences() -> None:
    text = " ".join(f"This is sentence number {n} of a long text." for n in range(60))
    chunks = chunk(ParsedDocument("t", (Block(text),)), Chunking(400, 100, 2_000))
    for before, piece in pairwise(chunks):
        assert piece.text.startswith("This is sentence")
        assert 0 < before.end - piece.start <= 100
        assert before.text.endswith(text[piece.start : before.end])


def test_a_chunk_aims_at_what_the_collection_says() -> None:
    text = Block("A sentence of some words. " * 400)
    for target in (100, 1_000, 4_000):
        sizes = [len(c.text) for c in chunk(ParsedDocument("t", (text,)), Chunking(target))]
        assert all(target / 2 <= size <= target * 1.5 for size in sizes[:-1])


def test_what_is_not_said_of_the_chunking_is_the_default() -> None:
    assert Chunking.of(0, 0, 0) == Chunking(450, 0, 2_000)
    assert Chunking.of(3_000, 0, 0) == Chunking(3_000, 0, 3_000)


@pytest.mark.parametrize(
    ("chunking", "problem"),
    [
        (Chunking(99), "target_characters must be between 100 and 4,000"),
        (Chunking(4_001, 0, 5_000), "target_characters must be"),
        (Chunking(450, 225), "overlap_characters must be 0 or more, and less than half"),
        (Chunking(450, -1), "overlap_characters must be"),
        (Chunking(450, 0, 449), "parent_characters must be between the target and 16,000"),
        (Chunking(450, 0, 16_001), "parent_characters must be"),
    ],
)
def test_a_chunking_that_cannot_be_is_refused(chunking: Chunking, problem: str) -> None:
    assert any(f"{name} {rule}".startswith(problem) for name, rule in chunking.problems())
