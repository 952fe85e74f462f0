"""The parsing worker: what a hostile file does to it stays with that file."""

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from heddle_knowledge.chunking.options import Chunking
from heddle_knowledge.errors import UnreadableDocumentError
from heddle_knowledge.reading.parsing import Parser
from heddle_runtime.serving.fair_slots import Tenant
from knowledge.store.making import docx_of, pdf

HANGING = b"- a\n" * 500_000
"""A list whose parser takes some twenty seconds."""


@pytest.fixture
async def parser() -> AsyncIterator[Parser]:
    running = Parser(seconds=5)
    yield running
    await running.aclose()


async def test_title_and_chunks_come_back(parser: Parser) -> None:
    found = await parser.parse(b"# T\n\ntext", media_type="", name="a.md")
    assert found.document.title == "T"
    assert [(c.text, c.heading, c.page, c.ordinal, c.start) for c in found.chunks] == [
        ("text", ("T",), None, 0, 3)
    ]


async def test_what_a_document_says_of_itself_comes_back_and_its_chunks_are_as_asked(
    parser: Parser,
) -> None:
    data = pdf("A sentence of prose. " * 40, info=b"/CreationDate(D:20200102)")
    found = await parser.parse(data, media_type="", name="a.pdf", chunking=Chunking(100))
    assert (found.document.pages, found.document.time) == (1, datetime(2020, 1, 2, tzinfo=UTC))
    assert all(len(piece.text) <= 200 for piece in found.chunks)


async def test_a_word_document_is_read_within_the_memory_of_the_worker(parser: Parser) -> None:
    body = "<w:p><w:r><w:t>A heddle holds a thread.</w:t></w:r></w:p>" * 20
    found = await parser.parse(docx_of(body), media_type="", name="a.docx")
    assert "".join(piece.text for piece in found.chunks).count("heddle") == 20


async def test_refusals_come_back_as_they_are(parser: Parser) -> None:
    with pytest.raises(UnreadableDocumentError, match=r"'a\.pdf' is damaged"):
        await parser.parse(b"none", media_type="", name="a.pdf")


@pytest.mark.exhaustive
async def test_a_file_that_hangs_its_reader_is_refused_and_the_next_is_read(
    parser: Parser,
) -> None:
    started = time.monotonic()
    with pytest.raises(UnreadableDocumentError, match=r"'bomb\.md' makes its reader hang"):
        await parser.parse(HANGING, media_type="", name="bomb.md")
    assert time.monotonic() - started < 20
    assert (await parser.parse(b"text", media_type="", name="a.txt")).document.title == "a.txt"


async def test_documents_take_turns(parser: Parser) -> None:
    names = [f"{n}.txt" for n in range(10)]
    results = await asyncio.gather(
        *(parser.parse(name.encode(), media_type="", name=name) for name in names)
    )
    assert [(found.document.title, found.chunks[0].text) for found in results] == [
        (n, n) for n in names
    ]


async def test_an_organisation_whose_documents_hang_delays_no_other(parser: Parser) -> None:
    loud, quiet = Tenant("loud", "ann"), Tenant("quiet", "bob")
    await parser.parse(b"text", media_type="", name="a.txt", tenant=quiet)
    hanging = [
        asyncio.create_task(parser.parse(HANGING, media_type="", name="a.md", tenant=loud))
        for _ in range(12)
    ]
    await asyncio.sleep(0)
    started = time.monotonic()

    reply = await parser.parse(b"text", media_type="", name="a.txt", tenant=quiet)

    assert reply.document.title == "a.txt"
    assert time.monotonic() - started < 4  # a document of the other organisation takes 5 s
    for each in hanging:
        each.cancel()
    await asyncio.wait(hanging)
    # The parser that works on a cancelled document is replaced.
    assert (
        await parser.parse(b"t", media_type="", name="b.txt", tenant=loud)
    ).document.title == "b.txt"
