"""Heddle, asked through its own API: a service in a process of its own, over gRPC."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import grpc
from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle.knowledge.v1 import knowledge_pb2_grpc as pb_grpc

from benchmarks.gateway.processes import Command, free_ports, started
from benchmarks.retrieval.labelled import Labelled
from benchmarks.retrieval.measures import DEPTH

WAYS: Mapping[str, Mapping[str, Any]] = {
    "BM25": {"mode": pb.SEARCH_MODE_TEXT},
    "dense": {"mode": pb.SEARCH_MODE_VECTOR},
    "hybrid": {"mode": pb.SEARCH_MODE_HYBRID},
    "hybrid 0.5": {"vector_weight": 0.5},
    "hybrid 0.6": {"vector_weight": 0.6},
    "hybrid 0.65": {"vector_weight": 0.65},
    "hybrid 0.7": {"vector_weight": 0.7},
    "hybrid 0.8": {"vector_weight": 0.8},
}
WEIGHTS = tuple(name for name, options in WAYS.items() if "vector_weight" in options)
"""The fixed weights, one of which is the default."""
_LARGEST = 40 * 1024 * 1024
_AT_ONCE = 8
PATIENCE = 1_800.0  # seconds; a long manual on a busy machine
_PASSAGES_OF_PAGES = 60  # so that ten pages are among them, and no page of contents


@contextlib.asynccontextmanager
async def serving(folder: Path) -> AsyncIterator["pb_grpc.KnowledgeServiceAsyncStub"]:
    """Run the knowledge service on a folder; what it holds already need not be embedded again."""
    address = f"127.0.0.1:{free_ports(1)[0]}"
    settings = {
        "HEDDLE_KNOWLEDGE_LISTEN": address,
        "HEDDLE_KNOWLEDGE_DATA_DIR": str(folder / "knowledge"),
        "HEDDLE_ASSISTANTS_ADDRESS": "none",
    }
    logs = folder / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    limits = [
        ("grpc.max_send_message_length", _LARGEST),
        ("grpc.max_receive_message_length", _LARGEST),
    ]
    with started([Command("heddle_knowledge", environment=settings)], logs):
        async with grpc.aio.insecure_channel(address, options=limits) as channel:
            yield pb_grpc.KnowledgeServiceStub(channel)


async def fill(stub: "pb_grpc.KnowledgeServiceAsyncStub", labelled: Labelled) -> None:
    """Make the collection of a set, or what is missing of it."""
    await store(stub, labelled.collection, labelled.model, labelled.documents, labelled.language)


async def store(
    stub: "pb_grpc.KnowledgeServiceAsyncStub",
    name: str,
    model: str,
    documents: Mapping[str, tuple[bytes, str]],
    language: str = "",
    chunk_characters: int = 0,
) -> None:
    """Make a collection with documents, each with its media type, or what is missing of it."""
    collection = pb.Collection(
        name=name,
        embedding_model=model,
        page_handling=pb.PAGE_HANDLING_TEXT,
        language=language,
        chunking=pb.Chunking(target_characters=chunk_characters),
    )
    asked = pb.CreateCollectionRequest(collection=collection)
    try:
        await stub.CreateCollection(asked, wait_for_ready=True, timeout=PATIENCE)
    except grpc.aio.AioRpcError as error:
        if error.code() is not grpc.StatusCode.ALREADY_EXISTS:
            raise
    free = asyncio.Semaphore(_AT_ONCE)

    async def ingest(document: str, data: bytes, media_type: str) -> None:
        request = pb.IngestDocumentRequest(
            collection=name, name=document, data=data, media_type=media_type
        )
        async with free:
            async for _ in stub.IngestDocument(request, timeout=PATIENCE):
                pass

    async with asyncio.TaskGroup() as group:
        for document, (data, media_type) in documents.items():
            group.create_task(ingest(document, data, media_type))


async def found(
    stub: "pb_grpc.KnowledgeServiceAsyncStub", labelled: Labelled, way: str
) -> list[list[str]]:
    """Return the labels found for every question."""
    answers = []
    for question, _ in labelled.questions:
        request = pb.SearchCollectionsRequest(
            collections=[labelled.collection],
            query=question,
            top_k=_PASSAGES_OF_PAGES if labelled.by_page else DEPTH,
            **WAYS[way],
        )
        (result,) = (await stub.SearchCollections(request, timeout=PATIENCE)).results
        labels = [
            f"{it.document}#{it.page}" if labelled.by_page else it.document
            for it in result.passages
        ]
        answers.append([label for label in labels if label not in labelled.ignored])
    return answers
