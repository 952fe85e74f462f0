"""The graph follows its documents, whoever crashes when."""

import asyncio
import hashlib
import shutil
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import psutil
import pytest
from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_knowledge.database.opening import KnowledgeDatabase
from heddle_knowledge.errors import (
    CollectionNotFoundError,
    ForeignBackendError,
    InvalidInputError,
)
from heddle_knowledge.graph.parts import GraphParts
from heddle_knowledge.graph.records import AskPaths, AskThemes, Name, NamedPassage
from heddle_knowledge.store import KnowledgeStore, open_store
from knowledge.graph_corpus import DOCUMENTS, build, put
from knowledge.shared_parser import shared_parser

from benchmarks.retrieval.hashing_embedder import HashingEmbedder


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graph") / "store"
    asyncio.run(build(folder))
    return folder


@pytest.fixture
def folder(built: Path, tmp_path: Path) -> Path:
    shutil.copytree(built, tmp_path / "store")
    return tmp_path / "store"


@pytest.fixture
async def store(folder: Path) -> AsyncGenerator[KnowledgeStore]:
    async with open_store(folder, HashingEmbedder(), parser=shared_parser()) as opened:
        yield opened


async def paths(store: KnowledgeStore, start: str, end: str) -> pb.FindGraphPathsResponse:
    question = AskPaths([await store.graphs.held("films")], start, end, 3)
    return pb.FindGraphPathsResponse.FromString(await store.graphs.ask(question))


async def themes(store: KnowledgeStore, question: AskThemes) -> pb.ListGraphThemesResponse:
    return pb.ListGraphThemesResponse.FromString(await store.graphs.ask(question))


def unknown(answer: pb.FindGraphPathsResponse) -> list[str]:
    return [each.entity for each in answer.unknown]


def checksum(name: str) -> str:
    return hashlib.sha256(DOCUMENTS[name].encode()).hexdigest()


@pytest.fixture
async def database(folder: Path) -> AsyncGenerator[KnowledgeDatabase]:
    """The database of graphs."""
    async with aclosing(KnowledgeDatabase("", folder / "pages", "pages.db")) as opened:
        yield opened


def ways(answer: pb.FindGraphPathsResponse) -> list[list[str]]:
    return [[path.links[0].start, *(link.end for link in path.links)] for path in answer.paths]


async def test_names_of_documents_are_linked_with_the_passages_that_say_so(
    store: KnowledgeStore,
) -> None:
    answer = await paths(store, "ed wood", "Scott Derrickson's")

    assert ways(answer)[0] == ["Ed Wood", "American", "Scott Derrickson"]
    for link in answer.paths[0].links:
        [evidence] = link.evidence
        passage = evidence.passage
        assert link.start in passage.text
        assert link.end in passage.text
        assert DOCUMENTS[passage.document].endswith(passage.text)
    assert answer.summary.document_count == 3
    assert answer.summary.foreign_document_count == 1  # said, and not guessed at
    assert answer.summary.missing_document_count == 0


async def test_a_document_that_goes_takes_its_part_of_the_graph(store: KnowledgeStore) -> None:
    before = (await paths(store, "Ed Wood", "Scott Derrickson")).summary.entity_count
    await store.documents.delete("films", "derrickson.md")

    answer = await paths(store, "Ed Wood", "Scott Derrickson")

    assert before > answer.summary.entity_count > 0
    assert unknown(answer) == ["Scott Derrickson"]
    assert answer.summary.document_count == 2
    assert ways(await paths(store, "Ed Wood", "Warner Bros"))


@pytest.mark.exhaustive
async def test_a_document_that_changes_changes_its_part_alone(
    store: KnowledgeStore, database: KnowledgeDatabase
) -> None:
    stages = await put(store, "films", "derrickson.md", "Scott Derrickson met Ridley Scott.")

    assert "relating" in stages
    assert stages.index("relating") < stages.index("saving")
    assert unknown(await paths(store, "Ed Wood", "Doctor Strange")) == ["Doctor Strange"]
    assert ways(await paths(store, "Scott Derrickson", "Ridley Scott"))
    assert (await paths(store, "Ed Wood", "Warner Bros")).summary.document_count == 3
    # Nothing of the old version stays.
    held = await store.graphs.held("films")
    assert not await GraphParts(database, held.collection).has(
        "derrickson.md", checksum("derrickson.md")
    )


async def test_what_was_drawn_and_never_committed_does_not_count(
    store: KnowledgeStore, database: KnowledgeDatabase
) -> None:
    """Somebody died between the two."""
    held = await store.graphs.held("films")
    names = [Name("ghost", "Ghost"), Name("ed wood", "Ed Wood")]
    ghosts = [NamedPassage(0, "Ghost and Ed Wood", None, "", names)]
    for version in (("ed-wood.md", "1" * 64), ("ghost.md", "2" * 64)):
        await GraphParts(database, held.collection).add(*version, ghosts, english=True)

    answer = await paths(store, "Ed Wood", "Ghost")

    assert unknown(answer) == ["Ghost"]
    assert answer.summary.document_count == 3


@pytest.mark.exhaustive
async def test_a_document_without_its_part_is_told_and_drawn_when_it_comes_again(
    store: KnowledgeStore, database: KnowledgeDatabase
) -> None:
    held = await store.graphs.held("films")
    [part] = [each for each in held.parts if each.document == "burton.md"]
    await GraphParts(database, held.collection).settle(part.document, part.sha256, "")

    assert (await paths(store, "Ed Wood", "Tim Burton")).summary.missing_document_count == 1
    again = await put(store, "films", "burton.md", DOCUMENTS["burton.md"])
    assert "relating" in again
    assert (await paths(store, "Ed Wood", "Tim Burton")).summary.missing_document_count == 0
    assert await put(store, "films", "burton.md", DOCUMENTS["burton.md"]) == ["ingested"]


async def test_another_process_sees_what_this_one_draws(
    store: KnowledgeStore, folder: Path
) -> None:
    """Two stores, as two processes have them, on one folder."""
    async with open_store(folder, HashingEmbedder(), parser=shared_parser()) as other:
        assert ways(await paths(other, "Ed Wood", "Scott Derrickson"))
        await store.documents.delete("films", "derrickson.md")
        assert (await paths(other, "Ed Wood", "Scott Derrickson")).unknown


async def test_a_collection_that_goes_takes_its_graph(
    store: KnowledgeStore, database: KnowledgeDatabase
) -> None:
    held = await store.graphs.held("films")
    assert await GraphParts(database, held.collection).all()

    await store.collections.delete("films")

    assert not await GraphParts(database, held.collection).all()


async def test_graphs_without_a_collection_are_swept(
    store: KnowledgeStore, database: KnowledgeDatabase
) -> None:
    await GraphParts(database, "0123").add("a", "b", [], english=True)
    await store.clean()
    assert not await GraphParts(database, "0123").all()
    assert (await store.graphs.held("films")).parts


async def test_a_question_is_answered_anew_after_the_process_died(store: KnowledgeStore) -> None:
    first = await paths(store, "Ed Wood", "Tim Burton")
    [process] = [
        each
        for each in psutil.Process().children()
        if "heddle_knowledge.graph.entity_graph_worker" in each.cmdline()
    ]
    process.kill()
    assert await paths(store, "Ed Wood", "Tim Burton") == first


async def test_names_of_deleted_documents_are_forgotten_with_the_file(
    store: KnowledgeStore, folder: Path
) -> None:
    await store.documents.delete("films", "derrickson.md")
    await store.purge()
    contents = [each.read_bytes() for each in (folder / "pages").glob("pages.db*")]
    assert contents
    assert not any(b"Scott Derrickson" in each for each in contents)


async def test_themes_are_as_many_as_asked_for_and_about_the_query_first(
    store: KnowledgeStore,
) -> None:
    held = [await store.graphs.held("films")]
    every = (await themes(store, AskThemes(held, 10))).themes
    [first] = (await themes(store, AskThemes(held, 1))).themes
    [asked] = (await themes(store, AskThemes(held, 1, "who is ed wood"))).themes

    assert len(every) > 1
    assert first == every[0]
    assert "Ed Wood" in asked.entities
    assert all(theme.evidence and theme.passage_count for theme in every)


async def test_a_graph_without_documents_is_an_empty_one(store: KnowledgeStore) -> None:
    await store.collections.create("new", graph=True)
    held = await store.graphs.held("new")
    empty = await themes(store, AskThemes([held], 1))

    assert (list(empty.themes), empty.summary.entity_count) == ([], 0)


async def test_what_has_no_graph_cannot_be_asked(store: KnowledgeStore) -> None:
    await store.collections.create("far", backend="lamb-kb", settings={"collection_id": "7"})
    with pytest.raises(InvalidInputError, match="'plain' has no graph"):
        await store.graphs.held("plain")
    with pytest.raises(ForeignBackendError):
        await store.graphs.held("far")
    with pytest.raises(CollectionNotFoundError):
        await store.graphs.held("nowhere")


async def test_a_service_without_the_models_makes_no_collection_with_a_graph(
    store: KnowledgeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)  # as if it were not installed

    with pytest.raises(InvalidInputError, match=r"Install heddle-knowledge\[graph\]"):
        await store.collections.create("drawn", graph=True)
    assert (await store.collections.create("plainer")).graph is False
