"""Numbers of pages, lines of contents and front matter are no text; what looks like them is."""

import pytest
from heddle_knowledge.chunking.chunks import chunk
from heddle_knowledge.formats.blocks import lay_out
from heddle_knowledge.formats.contents import without_contents
from heddle_knowledge.formats.folios import page_number
from heddle_knowledge.reading.documents import parse
from knowledge.store.making import pdf

BOOK = (
    "Contents\nThe warp .................... 1\nThe reed . . . . . . . . . 2",
    "The warp\nIt holds 1200 threads.\n1",
    "The reed\nIt beats the weft.\n2",
)


def text_of(data: bytes | str, name: str) -> str:
    content = data.encode() if isinstance(data, str) else data
    return "\n\n".join(each.text for each in chunk(parse(content, media_type="", name=name)))


def test_pages_lose_their_numbers_and_their_contents() -> None:
    text = text_of(pdf(*BOOK), "book.pdf")
    assert text == "The warp\nIt holds 1200 threads.\n\nThe reed\nIt beats the weft."


def test_running_heads_belong_to_the_text_and_to_no_passage() -> None:
    pages = [f"Manual of looms\nThread {word}.\nChapter {n}" for n, word in enumerate("abcde")]
    document = parse(pdf(*pages), media_type="", name="a.pdf")
    assert lay_out(document.blocks).text.count("Manual of looms") == 5
    assert [each.text for each in chunk(document)] == [f"Thread {word}." for word in "abcde"]
    few = chunk(parse(pdf(*pages[:3]), media_type="", name="a.pdf"))
    assert few[0].text == "Manual of looms\nThread a.\nChapter 0"


def test_heads_of_sections_with_growing_numbers_are_in_no_passage() -> None:
    heads = zip(range(7, 15), ("WARP", "WEFT", "REED", "SHED") * 2, "abcdefgh", strict=True)
    pages = [
        f"{n} 1.{n}. {head}\nIt is {word}." if n % 2 else f"1.{n}. {head} {n}\nIt is {word}."
        for n, head, word in heads
    ]
    passages = chunk(parse(pdf(*pages), media_type="", name="a.pdf"))
    assert [each.text for each in passages] == [f"It is {word}." for word in "abcdefgh"]


@pytest.mark.parametrize(
    "numbers",
    [("1", "2"), ("- 7 -", "- 8 -", "- 9 -"), ("Page 1 of 2", "Page 2 of 2"), ("ix", "x", "xi")],
)
def test_numbers_that_grow_with_the_pages_are_left_out(numbers: tuple[str, ...]) -> None:
    below = pdf(*(f"Warp and weft.\n{number}" for number in numbers))
    above = pdf(*(f"{number}\nWarp and weft." for number in numbers))
    for data in (below, above):
        assert text_of(data, "a.pdf") == "\n\n".join(["Warp and weft."] * len(numbers))


@pytest.mark.parametrize(
    "lines",
    [
        ("1984",),  # a year
        ("2019", "2020", "2021"),  # a year on each page
        ("42", "17"),  # the last cells of two tables
        ("7", "8"),  # the last cells of a table
        ("3.5", "4.5"),
        ("100", "200", "300"),
        ("I", "mix"),
        ("1",),  # one page with one number
    ],
)
def test_other_numbers_stay(lines: tuple[str, ...]) -> None:
    text = text_of(pdf(*(f"Warp and weft.\n{line}" for line in lines)), "a.pdf")
    for line in lines:
        assert f"Warp and weft.\n{line}" in text


@pytest.mark.parametrize(
    "page",
    [
        "Soup ............ 4\nBread ............ 7\nFish ............ 12",
        "Contents\nHex screws ............ 8\nNuts ............ 8\nWashers ............ 16",
        "Population 1990 ............ 100\nPopulation 2000 ............ 120",
        "Coffee ............ 3.50\nTea ............ 2.80",
        "Name ............................\nDate ............................",
    ],
)
def test_lists_with_dots_that_are_no_contents_stay(page: str) -> None:
    pages = pdf(page, "Fish soup with bread.", "Nothing about screws.")
    for line in page.splitlines():
        assert line in text_of(pages, "a.pdf")
        assert line in text_of(f"{page}\n\nFish soup with bread.", "a.txt")


def test_a_document_of_contents_alone_is_its_contents() -> None:
    assert "The warp ...." in text_of(pdf(BOOK[0]), "contents.pdf")


@pytest.mark.parametrize("name", ["a.txt", "a.md"])
def test_texts_lose_their_contents(name: str) -> None:
    text = (
        "A loom.\n\nContents\n\n1 The warp ........ 1\n2 The reed ........ 2\n\n"
        "1 The warp\n\nIt holds.\n\n2 The reed\n\nIt beats."
    )
    assert text_of(text, name) == "A loom.\n\n1 The warp\n\nIt holds.\n\n2 The reed\n\nIt beats."


def test_contents_take_time_in_proportion() -> None:
    text = "\n".join(
        f"{n}{'.' * 50_000}x\n{n}{' .' * 50_000}\n{'1' * 50_000}x{n}" for n in range(9)
    )
    assert without_contents(text) == text


def test_front_matter_becomes_metadata() -> None:
    data = (
        "---\ntitle: Felt\ndate: 2024-05-01\nAuthor: Ana\ntags: [wool, water]\nfile_id: file-1\n"
        f"nested: {{a: b}}\nlong: {'x' * 2_000}\n---\nFelt is pressed.\n"
    )
    document = parse(data.encode(), media_type="", name="a.md")
    assert [block.text for block in document.blocks] == ["Felt is pressed."]
    assert document.title == "Felt"
    assert document.time is not None
    assert document.time.year == 2024
    assert document.metadata == {"author": "Ana", "tags": "wool, water"}


@pytest.mark.parametrize(
    "text",
    ["---\nWarp and weft.\n---\nFelt.", "---\ntitle: Felt\n---\n", "Felt.\n\n---\na: b\n---\n"],
)
def test_text_between_rules_and_front_matter_alone_stay(text: str) -> None:
    for line in text.replace("---", "").split("\n"):
        assert line in text_of(text, "a.md")


@pytest.mark.parametrize(
    ("text", "number"), [("12", 12), ("iv", 4), ("XCIX", 99), ("iiii", 0), ("vx", 0), ("ccc", 300)]
)
def test_numbers_are_read(text: str, number: int) -> None:
    assert page_number(text) == number
