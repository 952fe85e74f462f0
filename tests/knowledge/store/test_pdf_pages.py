"""Pages of a PDF: cells of tables stay in their rows, and titles are known by their letters."""

import pytest
from heddle_knowledge.chunking.chunks import chunk
from heddle_knowledge.chunking.options import Chunking
from heddle_knowledge.errors import UnreadableDocumentError
from heddle_knowledge.formats.blocks import ParsedDocument
from heddle_knowledge.reading.documents import parse
from knowledge.store.making import pdf

PLACED = 13
"""Points between the lines that `placed` writes."""
ROWS = [
    {72: "Material", 220: "Unit", 320: "Price", 420: "Stock"},
    {72: "Wool, carded", 220: "kg", 320: "1,250.50", 420: "14"},
    {72: "Linen", 320: "80", 420: "3"},
    {72: "Silk", 220: "m", 420: "200"},
]


def placed(*rows: dict[int, str], size: int = 10, font: str = "F1") -> str:
    """Return operators that write each text of each row at its distance from the left."""
    shown = [
        f"/{font} {size} Tf 1 0 0 1 {left} {700 - PLACED * at} Tm ({text}) Tj"
        for at, row in enumerate(rows)
        for left, text in row.items()
    ]
    return ") Tj " + " ".join(shown) + " ("


def read(*pages: str) -> ParsedDocument:
    return parse(pdf(*pages), media_type="", name="a.pdf")


def test_cells_of_a_table_stay_in_their_row_and_under_their_header() -> None:
    (block,) = read(placed(*ROWS)).blocks
    assert block.text.split("\n") == [
        "Material | Unit | Price | Stock",
        "Wool, carded | kg | 1,250.50 | 14",
        "Linen |  | 80 | 3",
        "Silk | m |  | 200",
    ]
    assert block.header == "Material | Unit | Price | Stock"


def test_each_part_of_a_table_has_its_header() -> None:
    rows = [{72: f"Yarn {at}", 220: "kg", 320: f"{at}.50", 420: "7"} for at in range(20)]
    passages = chunk(read(placed(ROWS[0], *rows)), Chunking(target=200))
    assert len(passages) > 1
    assert all(each.text.startswith("Material | Unit | Price | Stock\n") for each in passages)


@pytest.mark.parametrize(
    "rows",
    [
        [{72: "1.", 110: "Warp"}, {72: "2.", 110: "Weft"}, {72: "3.", 110: "Felt"}],
        [
            {72: "A heddle is a loop with a thread", 330: "of the warp, which the weaver lifts"},
            {72: "with all the others of its shaft", 330: "and passes the weft below them"},
            {72: "when she presses its treadle.", 330: "The reed beats the weft into place."},
        ],
        [{72: "Wool", 220: "kg"}, {72: "Linen", 220: "m"}],
    ],
)  # fmt: skip
def test_lists_columns_of_prose_and_two_rows_are_no_table(rows: list[dict[int, str]]) -> None:
    assert all(block.header is None for block in read(placed(*rows)).blocks)


def test_lines_in_larger_letters_are_titles() -> None:
    prose = [{72: f"The loom holds the warp under tension, line {at}."} for at in range(6)]
    large = placed({72: "Looms"}, size=18).replace("700", "740")
    document = read(large + placed(*prose))
    assert {block.heading for block in document.blocks} == {("Looms",)}
    assert document.blocks[0].text.startswith("Looms\nThe loom holds")


def test_a_title_without_text_stays_with_what_follows_it() -> None:
    marks = (("Care", 0, 0), ("Drying", 1, 0))
    document = parse(
        pdf("1 Care\n1.1 Drying\nDry it flat.", bookmarks=marks), media_type="", name="a.pdf"
    )
    assert [(each.heading, each.text) for each in chunk(document)] == [
        (("Care", "Drying"), "1 Care\n1.1 Drying\nDry it flat.")
    ]


def test_signs_of_an_unknown_font_are_no_text() -> None:
    document = parse(pdf("plain words", "!#$%&'+,-./:;<=>?@" * 9), media_type="", name="a.pdf")
    assert [block.text for block in document.blocks] == ["plain words"]
    assert document.unread == (2,)
    assert document.metadata == {"pages_without_text": "1"}
    with pytest.raises(UnreadableDocumentError, match="no text"):
        parse(pdf("!#$%&'+,-./:;<=>?@" * 9), media_type="", name="a.pdf")


def test_dots_of_contents_and_numbers_are_text() -> None:
    figures = "  ".join(f"{number}.5%" for number in range(60))
    document = read(f"Weft {'. ' * 60} 7", figures)
    assert document.unread == ()
