"""Events of replicas on their way to the audit log."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from assistants.audit.reading import events, faults
from assistants.serving import Service, serving
from heddle.audit.v1 import audit_pb2 as pb
from heddle.audit.v1.audit_pb2_grpc import AuditServiceStub
from heddle_knowledge.audit.events import WaitingEvents
from heddle_knowledge.audit.recording import AuditOutbox
from heddle_knowledge.backup import file_rows
from heddle_knowledge.database.opening import KnowledgeDatabase
from heddle_knowledge.uploads.stores import open_file_stores
from heddle_runtime.contract.audit import Change
from heddle_runtime.identity.service_credentials import ServiceCredentials
from knowledge.model_server import model_site
from knowledge.replicas.service import two_replicas
from runtime.ports import free_port

pytestmark = pytest.mark.timeout(200)
CREDENTIALS = ServiceCredentials("heddle-knowledge")


async def created(service: Service, count: int) -> list[str]:
    """Return the objects of the log's events, once there are so many."""
    async with asyncio.timeout(60):
        while len(log := await events(service)) < count:
            await asyncio.sleep(0.05)
    assert await faults(service) == []
    return [each.object_id for each in log]


@pytest.mark.exhaustive
async def test_events_of_a_killed_replica_whose_folder_is_gone_reach_the_audit_log(
    tmp_path: Path, database: str
) -> None:
    address = f"127.0.0.1:{free_port()}"
    settings = {"HEDDLE_ASSISTANTS_ADDRESS": address}
    async with (
        model_site() as site,
        two_replicas(tmp_path, database, site, **settings) as (first, second),
    ):
        files = [await first.upload(f"{number}.md", "Threads.") for number in range(20)]
        first.kill()
        shutil.rmtree(first.folder)
        files.append(await second.upload("last.md", "Threads."))
        async with serving(f"sqlite:///{tmp_path}/heddle.db", listen=address) as service:
            recorded = await created(service, len(files) + 1)
    assert sorted(recorded[1:]) == sorted(files)


def change(number: int) -> Change:
    return Change("collection.create", str(number), "uni", after={"name": "c"})


async def test_events_that_two_replicas_send_at_once_are_recorded_once(
    tmp_path: Path, database: str
) -> None:
    async with (
        serving(f"sqlite:///{tmp_path}/heddle.db") as service,
        aclosing(KnowledgeDatabase(database, tmp_path)) as one,
        aclosing(KnowledgeDatabase(database, tmp_path)) as other,
    ):
        stub = AuditServiceStub(service.connection)
        outboxes = [AuditOutbox(WaitingEvents(each), stub) for each in (one, other)]
        async with outboxes[0].sending(CREDENTIALS), outboxes[1].sending(CREDENTIALS):
            added = (outboxes[number % 2].add(change(number)) for number in range(60))
            await asyncio.gather(*added)
            await asyncio.gather(*(each.sent() for each in outboxes))
            recorded = await created(service, 60)
    assert sorted(recorded, key=int) == [str(number) for number in range(60)]


async def test_restored_events_get_the_numbers_of_the_copied_ones(
    database: str, tmp_path: Path
) -> None:
    async with (
        open_file_stores(database, tmp_path) as original,
        open_file_stores("", tmp_path) as restored,
    ):
        waiting = WaitingEvents(original.database)
        for number in range(3):
            await waiting.add(pb.AuditEvent(object_id=str(number)).SerializeToString())
            if number == 0:
                await waiting.first()
        archived = [
            msgspec.json.decode(msgspec.json.encode(row))
            async for row in file_rows.rows(original.database, file_rows.OUTBOX)
        ]
        await file_rows.add(restored.database, file_rows.OUTBOX, each(archived))
        copies = WaitingEvents(restored.database)
        recorder, events_of_original = await waiting.first()
        assert await copies.first() == (recorder, events_of_original)
        assert [it.number for it in events_of_original] == [1, 2, 3]
        assert [it.event.object_id for it in events_of_original] == ["0", "1", "2"]
        await copies.forget(2)
        await copies.add(pb.AuditEvent(object_id="3").SerializeToString())
        assert [it.number for it in (await copies.first())[1]] == [3, 4]


async def each(rows: list[dict[str, Any]]) -> AsyncIterator[dict[str, Any]]:
    for row in rows:
        yield row
