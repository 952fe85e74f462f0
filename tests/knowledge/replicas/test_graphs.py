"""Graphs of two replicas, of which one is killed."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from heddle.knowledge.v1 import knowledge_pb2 as pb
from knowledge.graph_corpus import DOCUMENTS
from knowledge.model_server import ModelSite, model_site
from knowledge.replicas.service import COMPLETED, IN_PROGRESS, Replica, requested, two_replicas

pytestmark = pytest.mark.timeout(200)
COLLECTION = "films"


@pytest.fixture
async def site() -> AsyncIterator[ModelSite]:
    """The model of both replicas."""
    async with model_site() as served:
        yield served


@pytest.fixture
async def pair(
    tmp_path: Path, database: str, site: ModelSite
) -> AsyncIterator[tuple[Replica, Replica]]:
    """Two replicas with a collection that has a graph."""
    async with two_replicas(tmp_path, database, site) as (first, second):
        collection = pb.Collection(name=COLLECTION, graph=True)
        await first.call("CreateCollection", collection=collection)
        yield first, second


async def attach(replica: Replica, name: str) -> str:
    """Upload a document and begin to bring it into the graph."""
    identifier = await replica.upload(name, DOCUMENTS[name])
    await replica.call("AttachFile", collection=COLLECTION, file_id=identifier)
    return identifier


async def status(replica: Replica, identifier: str) -> int:
    """Wait until a file is in the collection or has failed."""
    fields = {"collection": COLLECTION, "file_id": identifier}
    while True:
        file = (await replica.call("GetAttachedFile", **fields)).file
        if file.status != IN_PROGRESS:
            return int(file.status)
        await asyncio.sleep(0.05)


async def themes(replica: Replica) -> pb.ListGraphThemesResponse:
    response = await replica.call("ListGraphThemes", collections=[COLLECTION], max_themes=10)
    assert not response.errors
    answer: pb.ListGraphThemesResponse = response
    return answer


@pytest.mark.exhaustive
async def test_themes_of_documents_that_one_replica_ingested_are_answered_by_the_other(
    pair: tuple[Replica, Replica],
) -> None:
    first, second = pair
    for name in ("ed-wood.md", "derrickson.md", "burton.md"):
        assert await status(first, await attach(first, name)) == COMPLETED
    answer = await themes(first)
    first.kill()

    assert await themes(second) == answer
    assert (answer.summary.document_count, answer.summary.missing_document_count) == (3, 0)
    assert {"Ed Wood", "Tim Burton"} <= {name for each in answer.themes for name in each.entities}
    fields = {"collections": [COLLECTION], "start": "Ed Wood", "end": "Scott Derrickson"}
    assert (await second.call("FindGraphPaths", **fields)).paths


@pytest.mark.exhaustive
async def test_a_graph_that_a_killed_replica_was_drawing_is_drawn_by_the_other(
    pair: tuple[Replica, Replica], site: ModelSite
) -> None:
    first, second = pair
    site.delay = 60
    drawing = asyncio.create_task(attach(first, "ed-wood.md"))
    await asyncio.gather(requested(site), drawing)
    first.kill()
    site.delay = 0

    assert await status(second, drawing.result()) == COMPLETED
    answer = await themes(second)
    assert (answer.summary.document_count, answer.summary.missing_document_count) == (1, 0)
    assert answer.themes


@pytest.mark.exhaustive
async def test_a_collection_that_one_replica_deletes_has_no_graph_at_the_other(
    pair: tuple[Replica, Replica],
) -> None:
    first, second = pair
    assert await status(first, await attach(first, "burton.md")) == COMPLETED
    assert (await themes(second)).themes
    await second.call("DeleteCollection", name=COLLECTION)
    await second.call("CreateCollection", collection=pb.Collection(name=COLLECTION, graph=True))
    assert (await themes(first)).summary.entity_count == 0
