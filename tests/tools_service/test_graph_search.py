"""The tool that asks graphs, as a model calls it."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path

import pytest
from google.protobuf.json_format import MessageToDict
from heddle.tool.v1 import tool_pb2 as pb
from heddle_knowledge.store import KnowledgeStore, open_store
from heddle_runtime.errors import ToolFailedError, from_status
from knowledge.graph_corpus import build
from knowledge.shared_parser import shared_parser
from tools_service.questions import asking, called
from tools_service.serving import Client, said, text_of

from benchmarks.retrieval.hashing_embedder import HashingEmbedder

TOOL = "graph_search"
CONFIG = {"collections": ["films"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graph") / "store"
    asyncio.run(build(folder))
    return folder


@pytest.fixture
async def store(folder: Path) -> AsyncGenerator[KnowledgeStore]:
    async with open_store(folder, HashingEmbedder(), parser=shared_parser()) as opened:
        yield opened


async def refusal(client: Client, config: Mapping[str, object], **arguments: str) -> str:
    event = await called(client, TOOL, config, **arguments)
    assert event.HasField("error"), event
    error = from_status(event.error)
    assert isinstance(error, ToolFailedError)
    return str(error)


@pytest.mark.exhaustive
async def test_relationship_tells_ways_and_cites_what_each_step_rests_on(
    store: KnowledgeStore,
) -> None:
    async with asking(store) as client:
        event = await called(
            client, TOOL, CONFIG, mode="relationship", entity_a="Ed Wood", entity_b="derrickson"
        )

    text = text_of(event.result)
    assert "1. Ed Wood - American - Scott Derrickson" in text
    assert "stand in one passage" in text
    assert (
        "   Ed Wood and American, in 1 passage; [Ed Wood] Ed Wood is a 1994 American film" in text
    )
    titles = [source.title for source in event.result.sources]
    assert titles[:2] == ["Ed Wood", "Scott Derrickson"]
    assert len(titles) == len(set(titles))
    attributes = dict(event.result.sources[0].attributes)
    assert attributes["collection"] == "films"
    assert attributes["document"] == "ed-wood.md"
    assert attributes["chunk_index"] == "0"
    assert list(event.result.warnings) == [
        "Not in the graph because not in English: 1 of the documents."
    ]


@pytest.mark.parametrize(
    "given", [{}, {"entity_a": "Ed Wood"}, {"entity_b": "Ed Wood", "entity_a": " "}]
)
async def test_relationship_needs_two_names(store: KnowledgeStore, given: dict[str, str]) -> None:
    async with asking(store) as client:
        message = await refusal(client, CONFIG, mode="relationship", **given)

    assert message == "relationship mode requires both entity_a and entity_b."


@pytest.mark.parametrize("most", [1, 2])
async def test_global_tells_as_many_themes_as_the_setting_says(
    store: KnowledgeStore, most: int
) -> None:
    async with asking(store) as client:
        event = await called(client, TOOL, {**CONFIG, "themes": most}, mode="global")

    lines = text_of(event.result).splitlines()
    assert sum(line[:2] in {"1.", "2.", "3."} for line in lines) == most
    facts = MessageToDict(event.result.metadata)
    assert facts["themes"] == most
    assert event.result.sources


async def test_a_name_that_is_not_there_is_told_with_those_like_it(store: KnowledgeStore) -> None:
    async with asking(store) as client:
        event = await called(
            client, TOOL, CONFIG, mode="relationship", entity_a="Ed Woood", entity_b="Tim Burton"
        )

    assert text_of(event.result) == (
        "The graph has no name 'Ed Woood'. Similar names in it: Ed Wood."
    )


async def test_only_what_the_owner_may_read_is_asked(store: KnowledgeStore) -> None:
    """The graph of another organisation is as good as missing, and so are its names."""
    config = {"collections": ["films", "ours"]}
    async with asking(store) as client:
        both = {"mode": "relationship", "entity_a": "Greta Garbo", "entity_b": "Tim Burton"}
        strangers = await called(client, TOOL, config, **both)
        owners = said("x", owner="ana@guild.example", organization="guild")
        own = await called(client, TOOL, {"collections": ["ours"]}, owners, **both)

    assert "no name 'Greta Garbo'" in text_of(strangers.result)
    assert strangers.result.warnings[0] == (
        "Collection 'ours' was not asked: There is no collection 'ours'. List the collections, or "
        "create it first."
    )
    assert "1. Greta Garbo - Tim Burton" in text_of(own.result)


async def test_collections_without_a_graph_are_told(store: KnowledgeStore) -> None:
    async with asking(store) as client:
        some = await called(client, TOOL, {"collections": ["films", "plain"]})
        none = await refusal(client, {"collections": ["plain"]})
        nowhere = await called(client, TOOL, {"collections": []})

    assert "'plain' has no graph" in some.result.warnings[0]
    assert "'plain' has no graph" in none
    assert isinstance(nowhere, pb.ToolEvent)
    assert nowhere.HasField("error")
