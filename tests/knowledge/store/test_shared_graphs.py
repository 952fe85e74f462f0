"""Graphs in a database: two stores on it, as two replicas have them, answer alike."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import pytest
from assistants.postgres import Postgres
from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_knowledge.graph.records import AskPaths, AskThemes
from heddle_knowledge.pages.page_place import open_pages
from heddle_knowledge.store import KnowledgeStore, open_store
from knowledge.graph_corpus import DOCUMENTS, build, put

from benchmarks.retrieval.hashing_embedder import HashingEmbedder


@pytest.fixture(scope="module")
def template(vector_server: Postgres) -> Iterator[str]:
    """A database with the graph of the corpus."""
    with vector_server.database() as url:
        asyncio.run(build(url))
        yield url


@pytest.fixture
def database(vector_server: Postgres, template: str) -> Iterator[str]:
    """A copy of it."""
    with vector_server.database(vector_server.name(template)) as url:
        yield url


@asynccontextmanager
async def replica(database: str) -> AsyncIterator[KnowledgeStore]:
    """Open a store whose pages and graphs are in the database."""
    async with (
        open_pages(database, Path("unused")) as pages,
        open_store(database, HashingEmbedder(), pages=pages) as store,
    ):
        yield store


@pytest.fixture
async def pair(database: str) -> AsyncIterator[tuple[KnowledgeStore, KnowledgeStore]]:
    """Two replicas."""
    async with replica(database) as first, replica(database) as second:
        yield first, second


async def themes(each: KnowledgeStore) -> pb.ListGraphThemesResponse:
    question = AskThemes([await each.graphs.held("films")], 10)
    return pb.ListGraphThemesResponse.FromString(await each.graphs.ask(question))


async def paths(each: KnowledgeStore, start: str, end: str) -> pb.FindGraphPathsResponse:
    question = AskPaths([await each.graphs.held("films")], start, end, 3)
    return pb.FindGraphPathsResponse.FromString(await each.graphs.ask(question))


@pytest.mark.exhaustive
async def test_every_replica_answers_from_what_another_one_has_drawn(
    pair: tuple[KnowledgeStore, KnowledgeStore],
) -> None:
    first, second = pair
    answer = await themes(first)
    assert answer == await themes(second)
    assert (answer.summary.document_count, answer.summary.missing_document_count) == (3, 0)
    assert len(answer.themes) > 1

    await put(second, "films", "garbo.md", "Greta Garbo met Tim Burton in Stockholm.")
    assert [each.links[0].start for each in (await paths(first, "Garbo", "Tim Burton")).paths]
    await first.documents.delete("films", "garbo.md")
    assert [each.entity for each in (await paths(second, "Garbo", "Ed Wood")).unknown] == ["Garbo"]


@pytest.mark.exhaustive
async def test_a_document_that_changes_at_one_replica_changes_its_part_at_the_other(
    pair: tuple[KnowledgeStore, KnowledgeStore],
) -> None:
    first, second = pair
    assert (await paths(second, "Ed Wood", "Scott Derrickson")).paths
    await put(first, "films", "derrickson.md", "Scott Derrickson met Ridley Scott.")
    assert (await paths(second, "Scott Derrickson", "Ridley Scott")).paths
    assert not (await paths(second, "Ed Wood", "Scott Derrickson")).paths
    assert len((await second.graphs.held("films")).parts) == len(DOCUMENTS)


@pytest.mark.exhaustive
async def test_two_replicas_draw_documents_of_a_new_graph_at_once(
    pair: tuple[KnowledgeStore, KnowledgeStore],
) -> None:
    await pair[0].collections.create("new", graph=True)
    texts = {f"{n}.md": f"Ed Wood met Greta Garbo in London in 19{n:02}." for n in range(6)}
    await asyncio.gather(
        *(put(pair[n % 2], "new", name, texts[name]) for n, name in enumerate(texts))
    )
    for each in pair:
        held = await each.graphs.held("new")
        assert (len(held.parts), held.missing) == (len(texts), 0)


@pytest.mark.exhaustive
async def test_a_collection_that_goes_takes_its_rows(database: str) -> None:
    async with replica(database) as first:
        held = await first.graphs.held("films")
        assert held.parts
        await first.collections.delete("films")
    connection = await asyncpg.connect(database)
    count = "SELECT count(*) FROM heddle_knowledge.graph_parts WHERE collection = $1"
    assert await connection.fetchval(count, held.collection) == 0
    await connection.close()
