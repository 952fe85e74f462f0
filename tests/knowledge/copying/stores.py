"""A knowledge store with some of everything, and what can be read of it."""

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from heddle.knowledge.v1 import files_pb2 as pb
from heddle_knowledge.access import Person
from heddle_knowledge.copying.side import Place, open_target
from heddle_knowledge.graph.records import DrawnPart, Name, NamedPassage, Part
from heddle_knowledge.pages.shapes import DrawnPage, Figure
from heddle_knowledge.store import KnowledgeStore, open_store
from heddle_knowledge.testing import HashingEmbedder
from heddle_knowledge.uploads.folder import person_key
from heddle_knowledge.uploads.opening import open_file_stores
from heddle_knowledge.uploads.records import BATCH, Attachment, Batch, new_id

ANN = person_key(Person("ann@uni.example", "uni"))
_EMBEDDER = HashingEmbedder()
_QUERIES = ("loom threads", "shuttle 7", "weft number 12")
PAGED = "a" * 64
COLLECTIONS = ("looms", "shuttles", "wefts")
DOCUMENTS = 20
"""In each of those collections."""


async def fill(place: Place) -> None:
    """Fill a store: collections of two owners, documents, files, a batch, LAMB's collection."""
    async with open_store(place.address, _EMBEDDER) as store:
        for name in COLLECTIONS:
            record = await store.collections.create(
                name, title=name.title(), owner="ann@uni.example", organization="uni",
                sharing="organization", metadata={"term": "spring"}, language="en",
            )  # fmt: skip
            for number in range(DOCUMENTS):
                text = (
                    f"# {name} {number}\n\n"
                    + f"The {name[:-1]} number {number} has threads. " * (number * 3 + 1)
                )
                await _put(store, record.id, f"{name}-{number}.md", text)
        odd = await store.collections.create("odd")
        await _put(store, odd.id, "odd\u00e9.txt", "Väv och 日本語 there.")
        await store.collections.create("empty")
        await store.collections.create("drawn", graph=True)
        await store.collections.create("far", backend="lamb-kb", settings={"collection_id": "7"})
    await _fill_files(place)
    await _draw(place)
    await _add_pages(place)


async def _add_pages(place: Place) -> None:
    """Store pages of two documents, one of them not whole, as an interrupted ingestion does."""
    figure = Figure("A loom", "warp", (0.0, 0.25, 0.5, 1.0))
    words = np.arange(8, dtype=np.float16).reshape(2, 4)
    drawn = [
        DrawnPage(1, b"picture 1", "A loom has threads.", (figure,), scanned=True),
        DrawnPage(2, b"", "A shuttle.", ()),
        DrawnPage(3, b"picture 3"),
    ]
    vectors = [words, words + 1, np.empty((0, 4), np.float16)]
    async with open_target(place) as side:
        [record] = [each for each in await side.records() if each.name == "looms"]
        pages = side.pages.of(record.id)
        for sha256, count in ((PAGED, 3), ("b" * 64, 2)):
            async with side.pages.holding(record.id, sha256):
                await asyncio.to_thread(pages.expect, sha256, "maker", 3)
                await asyncio.to_thread(pages.add, sha256, drawn[:count], vectors[:count])
        await asyncio.to_thread(pages.finish, PAGED)


async def pages_of(place: Place) -> dict[str, Any]:
    """Read all pages, and search them."""
    known: dict[str, Any] = {}
    async with open_target(place) as side:
        [record] = [each for each in await side.records() if each.name == "looms"]
        pages = side.pages.of(record.id)
        for sha256, document in (await asyncio.to_thread(pages.documents)).items():
            known[sha256] = document
            for number in await asyncio.to_thread(pages.numbers, sha256):
                page = await asyncio.to_thread(pages.whole_page, sha256, number)
                assert page is not None
                known[f"{sha256} {number}"] = (page.drawn, page.words.tolist())
        scores = await asyncio.to_thread(pages.matching, "shuttle", 5)
        known["scores of pages"] = [round(each, 4) for each in scores.values()]
    return known


async def _draw(place: Place) -> None:
    """Put parts into a graph, as the model would."""
    names = [Name("ed wood", "Ed Wood"), Name("tim burton", "Tim Burton")]
    passages = [NamedPassage(3, "Ed Wood met Tim Burton.", 2, "Films", names)]
    async with open_target(place) as side:
        [record] = [each for each in await side.records() if each.name == "drawn"]
        graph = side.graphs.of(record)
        assert graph is not None
        for number in range(3):
            part = Part(f"{number}.md", str(number) * 64)
            await graph.parts.add(
                DrawnPart(part, english=number > 0, passages=passages if number else [])
            )


async def graphs(place: Place) -> dict[str, Any]:
    """Read all parts of graphs."""
    async with open_target(place) as side:
        [record] = [each for each in await side.records() if each.name == "drawn"]
        graph = side.graphs.of(record)
        assert graph is not None
        every = await graph.parts.all()
        return {part.document: await graph.parts.get(part) for part in every}


async def _put(store: KnowledgeStore, collection: str, name: str, text: str) -> None:
    uri, metadata = f"https://uni.example/{name}", {"name": name}
    events = store.documents.ingest(collection, name, text.encode(), uri=uri, metadata=metadata)
    async for _ in events:
        pass


async def _fill_files(place: Place) -> None:
    """Upload files, and attach most of them to a collection, in a batch and in every state."""
    collection = (await collection_ids(place))["looms"]
    async with open_file_stores(place.address, _uploads(place), place.objects) as files:
        identifiers = []
        for number in range(6):
            upload = pb.File(id=new_id(), filename=f"{number}.md", size=5, purpose="assistants")
            await asyncio.to_thread(files.uploads.keep, ANN, upload, f"file{number}".encode())
            identifiers.append(upload.id)
        await asyncio.to_thread(files.attachments.prepare, collection)
        for number, identifier in enumerate(identifiers[1:]):
            attachment = Attachment(
                file_id=identifier, collection=collection, document=f"looms-{number}.md",
                person=ANN, filename=f"{number}.md", media_type="text/markdown", size=5,
                attributes={"page": number}, created_at=time.time_ns() // 1000,
                state="failed" if number == 1 else "completed",
                error="It has no text." if number == 1 else "",
            )  # fmt: skip
            async with files.attachments.locked(collection, identifier):
                await asyncio.to_thread(files.attachments.keep, attachment)
        batch = Batch(new_id(BATCH), collection, identifiers[1:4], 17)
        await asyncio.to_thread(files.attachments.keep_batch, batch)


async def collection_ids(place: Place) -> Mapping[str, str]:
    """Return the ids of the collections by name."""
    async with open_store(place.address, _EMBEDDER) as store:
        return {each.name: each.id for each in (await store.collections.all()).values()}


async def contents(place: Place) -> dict[str, Any]:
    """Read everything, by the ways that the service reads it, and the answers to searches."""
    known: dict[str, Any] = {}
    async with open_store(place.address, _EMBEDDER) as store:
        records = await store.collections.all()
        for record in records.values():
            known[record.id] = record
            if record.backend == "embedded":
                known |= await _documents(store, record.id)
    known |= await graphs(place) | await pages_of(place)
    async with open_file_stores(place.address, _uploads(place), place.objects) as files:
        uploads, attachments = files.uploads, files.attachments
        for upload in await asyncio.to_thread(uploads.all, ANN):
            data = await asyncio.to_thread(uploads.content, ANN, upload.id)
            known[upload.id] = (upload.filename, upload.size, data)
        for id_ in records:
            for attachment in await asyncio.to_thread(attachments.of, id_):
                known[f"{id_}/{attachment.file_id}"] = msgspec.to_builtins(attachment)
            for batch in await asyncio.to_thread(attachments.batches, id_):
                known[batch.id] = msgspec.to_builtins(batch)
    return known


async def _documents(store: KnowledgeStore, collection: str) -> dict[str, Any]:
    known: dict[str, Any] = {}
    for document in await store.documents.all(collection):
        passages = await store.passages.listed(collection, document)
        known[f"{collection}/{document.name}"] = (document, passages)
    for query in _QUERIES:
        found = await store.passages.search(collection, query, top_k=3, mode="vector")
        known[f"{collection}?{query}"] = [
            (each.document, each.ordinal, round(each.score, 4)) for each in found
        ]
    return known


def _uploads(place: Place) -> Path:
    return (place.folder or Path()) / "uploads"
