"""A change whose caller goes away has its event in the audit log if it is in force."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor_pb2 import MethodOptions
from heddle.audit.v1.audit_pb2_grpc import AuditServiceStub
from heddle.knowledge.v1 import files_pb2, knowledge_pb2
from heddle_knowledge.audit.events import WaitingEvents
from heddle_knowledge.audit.recording import AuditOutbox
from heddle_knowledge.completed_changes import uninterrupted
from heddle_knowledge.service.servicer import KnowledgeServicer
from heddle_knowledge.uploads.servicer import FileServicer
from heddle_runtime.identity.call_metadata import CALLER, Caller
from knowledge.opening import waiting_events
from knowledge.uploads.desk import PEOPLE, Desk, serving

COUNT = 40
NO_SIDE_EFFECTS = MethodOptions.NO_SIDE_EFFECTS


@pytest.fixture
async def waiting(tmp_path: Path) -> AsyncIterator[WaitingEvents]:
    """Where events wait for the assistants service, which does not run."""
    async with waiting_events(tmp_path / "audit") as events:
        yield events


@pytest.fixture
async def desk(tmp_path: Path, waiting: WaitingEvents) -> AsyncIterator[Desk]:
    async with grpc.aio.insecure_channel("127.0.0.1:1") as nowhere:
        outbox = AuditOutbox(waiting, AuditServiceStub(nowhere))
        async with serving(tmp_path, audit=outbox) as running_desk:
            yield running_desk


@pytest.mark.parametrize("servicer", [FileServicer, KnowledgeServicer])
def test_every_call_that_changes_something_is_completed(servicer: type[Any]) -> None:
    module = files_pb2 if servicer is FileServicer else knowledge_pb2
    (contract,) = module.DESCRIPTOR.services_by_name.values()
    # The tests below cancel the ingestion of documents, which is a stream.
    changing = {
        method.name
        for method in contract.methods
        if method.GetOptions().idempotency_level != NO_SIDE_EFFECTS and not method.server_streaming
    }
    uninterrupted = {name for name in changing if hasattr(getattr(servicer, name), "__wrapped__")}
    assert changing == uninterrupted != set()


async def cancelled(
    work: Coroutine[Any, Any, Any], seconds: float, begun: asyncio.Event | None = None
) -> None:
    """Begin a call, and cancel it after a time, or if that is given, so long after an event."""
    call = asyncio.create_task(work)
    if begun:
        await begun.wait()
    await asyncio.sleep(seconds)
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)


async def actions(waiting: WaitingEvents) -> Counter[str]:
    _, events = await waiting.first()
    return Counter(each.event.action for each in events)


@pytest.mark.exhaustive
async def test_each_deleted_file_has_an_event(desk: Desk, waiting: WaitingEvents) -> None:
    files = [await desk.upload("ana", f"{number}.md") for number in range(COUNT)]

    for number, file in enumerate(files):
        await cancelled(desk("ana", "DeleteFile", id=file), number * 0.00005)

    left = (await desk("ana", "ListFiles")).files
    assert (await actions(waiting))["file.delete"] == COUNT - len(left)
    assert len(left) < COUNT


async def test_each_new_file_and_collection_has_an_event(
    desk: Desk, waiting: WaitingEvents
) -> None:
    for number in range(COUNT):
        await cancelled(desk.upload("ana", f"{number}.md"), number * 0.0002)
        collection = knowledge_pb2.Collection(name=f"c{number}")
        await cancelled(desk("ana", "CreateCollection", collection=collection), number * 0.001)

    recorded = await actions(waiting)
    assert recorded["file.create"] == len((await desk("ana", "ListFiles")).files) > 0
    collections = (await desk("ana", "ListCollections", page_size=100)).collections
    assert recorded["collection.create"] == len(collections) > 0


@pytest.mark.exhaustive
async def test_each_ingested_document_has_an_event(desk: Desk, waiting: WaitingEvents) -> None:
    await desk.collection("ana")

    async def ingest(number: int) -> None:
        CALLER.set(Caller("req", PEOPLE["ana"]))
        request = knowledge_pb2.IngestDocumentRequest(
            collection="looms", name=f"{number}.md", data=f"Thread {number}.".encode()
        )
        async for _ in desk.knowledge.IngestDocument(request, timeout=30):
            pass

    for number in range(COUNT):
        desk.embedder.has_begun.clear()
        await cancelled(ingest(number), number * 0.002, desk.embedder.has_begun)

    documents = (await desk("ana", "ListDocuments", collection="looms", page_size=100)).documents
    assert (await actions(waiting))["document.ingest"] == len(documents) > 0


@pytest.mark.exhaustive
async def test_each_attached_file_is_ingested(desk: Desk, waiting: WaitingEvents) -> None:
    await desk.collection("ana")
    files = [await desk.upload("ana", f"{number}.md") for number in range(COUNT)]

    for number, file in enumerate(files):
        call = desk("ana", "AttachFile", collection="looms", file_id=file)
        await cancelled(call, number * 0.0002)

    fields = {"collection": "looms", "page_size": 100}
    attached = (await desk("ana", "ListAttachedFiles", **fields)).files
    for each in attached:
        done = await desk.done("looms", each.file_id)
        assert done.status == files_pb2.ATTACHMENT_STATUS_COMPLETED
    assert (await actions(waiting))["file.attach"] == len(attached) > 0


async def test_a_call_does_not_wait_for_a_change_that_hangs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ending, ended = asyncio.Event(), asyncio.Event()

    @uninterrupted
    async def change() -> None:
        await ending.wait()
        ended.set()
        raise ValueError

    monkeypatch.setattr("heddle_knowledge.completed_changes._PATIENCE_SECONDS", 0.01)
    await cancelled(change(), 0.01)
    assert not ended.is_set()
    ending.set()
    async with asyncio.timeout(10):
        await ended.wait()
