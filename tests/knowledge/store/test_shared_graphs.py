"""Graphs in a database: two stores on it, as two replicas have them, answer alike."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import msgspec
import pytest
from assistants.postgres import Postgres
from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_knowledge.engines.address import open_engine
from heddle_knowledge.errors import StorageError
from heddle_knowledge.graph import parts
from heddle_knowledge.graph.part_stores import FileParts, PartStore
from heddle_knowledge.graph.records import (
    AskPaths,
    AskThemes,
    DrawnPart,
    Name,
    NamedPassage,
    Part,
)
from heddle_knowledge.graph.table_parts import TableParts
from heddle_knowledge.store import KnowledgeStore, open_store
from hypothesis import given
from hypothesis import strategies as st
from knowledge.graph_corpus import DOCUMENTS, build, put
from patience import until
from runtime.examples import examples

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


@dataclass
class Replica:
    store: KnowledgeStore
    copies: Path


@asynccontextmanager
async def replica(database: str, folder: Path) -> AsyncIterator[Replica]:
    """Open a store with a folder of its own."""
    async with open_store(database, HashingEmbedder(), graphs=folder) as store:
        yield Replica(store, folder)


@pytest.fixture
async def pair(database: str, tmp_path: Path) -> AsyncIterator[tuple[Replica, Replica]]:
    """Two replicas."""
    async with (
        replica(database, tmp_path / "first") as first,
        replica(database, tmp_path / "second") as second,
    ):
        yield first, second


async def themes(each: Replica) -> pb.ListGraphThemesResponse:
    question = AskThemes([await each.store.graphs.held("films")], 10)
    return pb.ListGraphThemesResponse.FromString(await each.store.graphs.ask(question))


async def paths(each: Replica, start: str, end: str) -> pb.FindGraphPathsResponse:
    question = AskPaths([await each.store.graphs.held("films")], start, end, 3)
    return pb.FindGraphPathsResponse.FromString(await each.store.graphs.ask(question))


@pytest.mark.exhaustive
async def test_every_replica_answers_from_what_another_one_has_drawn(
    pair: tuple[Replica, Replica],
) -> None:
    first, second = pair
    answer = await themes(first)
    assert answer == await themes(second)
    assert (answer.summary.document_count, answer.summary.missing_document_count) == (3, 0)
    assert len(answer.themes) > 1

    await put(second.store, "films", "garbo.md", "Greta Garbo met Tim Burton in Stockholm.")
    assert [each.links[0].start for each in (await paths(first, "Garbo", "Tim Burton")).paths]
    await first.store.documents.delete("films", "garbo.md")
    assert [each.entity for each in (await paths(second, "Garbo", "Ed Wood")).unknown] == ["Garbo"]
    assert await first.store.graphs.count("films") == await second.store.graphs.count("films")


@pytest.mark.exhaustive
async def test_a_document_that_changes_at_one_replica_changes_its_part_at_the_other(
    pair: tuple[Replica, Replica],
) -> None:
    first, second = pair
    assert (await paths(second, "Ed Wood", "Scott Derrickson")).paths
    await put(first.store, "films", "derrickson.md", "Scott Derrickson met Ridley Scott.")
    assert (await paths(second, "Scott Derrickson", "Ridley Scott")).paths
    assert not (await paths(second, "Ed Wood", "Scott Derrickson")).paths
    held = await second.store.graphs.held("films")
    assert len(parts.all_parts(Path(held.path))) == len(DOCUMENTS)


async def test_two_replicas_draw_documents_of_a_new_graph_at_once(
    pair: tuple[Replica, Replica],
) -> None:
    first, second = pair
    await first.store.collections.create("new", graph=True)
    texts = {f"{n}.md": f"Ed Wood met Greta Garbo in London in 19{n:02}." for n in range(6)}
    await asyncio.gather(
        *(put(pair[n % 2].store, "new", name, texts[name]) for n, name in enumerate(texts))
    )
    for each in pair:
        held = await each.store.graphs.held("new")
        assert ordered(held.parts) == ordered(parts.all_parts(Path(held.path)))
        assert await each.store.graphs.count("new") >= 3
    assert second.copies.is_dir()


async def test_a_collection_that_goes_takes_its_table_and_copies_of_stopped_replicas(
    database: str, tmp_path: Path
) -> None:
    async with replica(database, tmp_path / "second") as second:
        held = await second.store.graphs.held("films")
        assert parts.all_parts(Path(held.path))
    async with replica(database, tmp_path / "first") as first:
        await first.store.collections.delete("films")
    connection = await asyncpg.connect(database)
    tables = await connection.fetch("SELECT name FROM heddle_knowledge.tables")
    await connection.close()
    assert f"graph_{held.collection}" not in {row["name"] for row in tables}
    async with replica(database, tmp_path / "second"):
        await until(lambda: not Path(held.path).exists())


async def test_a_graph_whose_table_is_damaged_is_an_error_and_not_an_empty_one(
    database: str, tmp_path: Path
) -> None:
    async with replica(database, tmp_path / "first") as first:
        held = await first.store.graphs.held("films")
        connection = await asyncpg.connect(database)
        await connection.execute(f"DROP TABLE heddle_knowledge.graph_{held.collection}")
        await connection.execute(
            "UPDATE heddle_knowledge.tables SET version = version + 1 WHERE name LIKE 'graph%'"
        )
        await connection.close()
        with pytest.raises(StorageError, match="The graph cannot be read"):
            await first.store.graphs.held("films")


_parts = st.builds(Part, st.sampled_from("ab"), st.sampled_from("123"))
_names = st.sets(st.sampled_from("xyz"), min_size=1).map(
    lambda keys: [Name(key, key.upper()) for key in sorted(keys)]
)
_passages = st.lists(
    st.builds(
        NamedPassage,
        st.integers(0, 5),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
        st.none() | st.integers(1, 9),
        st.just("Heading"),
        _names,
    ),
    max_size=3,
    unique_by=lambda each: each.ordinal,
)
_drawn = st.builds(
    DrawnPart, _parts, st.booleans(), _passages.map(lambda each: sorted(each, key=_ordinal))
)
_steps = st.lists(
    st.tuples(st.just("add"), _drawn)
    | st.tuples(st.just("delete"), _parts)
    | st.tuples(st.just("settle"), st.sampled_from("ab"), st.sampled_from("123"), st.just("3")),
    max_size=12,
)


def _ordinal(passage: NamedPassage) -> int:
    return passage.ordinal


def ordered(listed: list[Part]) -> list[Part]:
    return sorted(listed, key=msgspec.structs.astuple)


async def contents(store: PartStore) -> list[DrawnPart | None]:
    return [await store.get(part) for part in ordered(await store.all())]


@examples(50)
@given(_steps)
def test_a_table_and_a_file_store_the_same_parts(
    template: str, tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[object, ...]]
) -> None:
    folder, collection = tmp_path_factory.mktemp("parts"), uuid.uuid4().hex

    async def compare() -> None:
        async with open_engine(template, {}) as engine:
            table = TableParts(engine, collection, folder / "copy.sqlite")
            file = FileParts(folder / "own.sqlite")
            for method, *arguments in steps:
                for store in (table, file):
                    await getattr(store, str(method))(*arguments)
                assert await contents(table) == await contents(file)
                assert await contents(FileParts(await table.file())) == await contents(file)
            for part in await file.all():
                assert await table.has(part)

    asyncio.run(compare())
