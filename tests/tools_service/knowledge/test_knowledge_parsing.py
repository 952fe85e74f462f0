"""The parsing worker: what a hostile file does to it stays with that file."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
from heddle_tools_service.knowledge.errors import UnreadableDocumentError
from heddle_tools_service.knowledge.parsing import Parser


@pytest.fixture
async def parser() -> AsyncIterator[Parser]:
    made = Parser(seconds=5)
    yield made
    await made.aclose()


async def test_title_and_chunks_come_back(parser: Parser) -> None:
    title, chunks = await parser.parse(b"# T\n\ntext", media_type="", name="a.md")
    assert title == "T"
    assert [(c.text, c.heading, c.page, c.ordinal) for c in chunks] == [("text", ("T",), None, 0)]


async def test_refusals_come_back_as_they_are(parser: Parser) -> None:
    with pytest.raises(UnreadableDocumentError, match=r"'a\.pdf' is damaged"):
        await parser.parse(b"none", media_type="", name="a.pdf")


async def test_a_file_that_hangs_its_reader_is_refused_and_the_next_is_read(
    parser: Parser,
) -> None:
    started = time.monotonic()
    with pytest.raises(UnreadableDocumentError, match=r"'bomb\.html' makes its reader hang"):
        await parser.parse(b"<div>" * 300_000 + b"x", media_type="", name="bomb.html")
    assert time.monotonic() - started < 20
    assert (await parser.parse(b"text", media_type="", name="a.txt"))[0] == "a.txt"


async def test_documents_take_turns(parser: Parser) -> None:
    names = [f"{n}.txt" for n in range(10)]
    results = await asyncio.gather(
        *(parser.parse(name.encode(), media_type="", name=name) for name in names)
    )
    assert [(title, chunks[0].text) for title, chunks in results] == [(n, n) for n in names]
