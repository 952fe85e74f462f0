"""Events of replicas on their way to the audit log."""

import asyncio
import shutil
from contextlib import aclosing
from pathlib import Path

import pytest
from assistants.audit.reading import events, faults
from assistants.serving import Service, serving
from heddle.audit.v1 import audit_pb2 as pb
from heddle.audit.v1.audit_pb2_grpc import AuditServiceStub
from heddle_knowledge.audit import AuditOutbox
from heddle_knowledge.audit_events import DatabaseEvents
from heddle_knowledge.backup import outbox_rows
from heddle_knowledge.uploads.files_database import FilesDatabase
from heddle_runtime.audit import Change
from heddle_runtime.service_credentials import ServiceCredentials
from knowledge.model_server import model_site
from knowledge.replicas.service import SECRET, two_replicas
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
        async with serving(
            f"sqlite:///{tmp_path}/heddle.db", secret=SECRET, listen=address
        ) as service:
            recorded = await created(service, len(files) + 1)
    assert sorted(recorded[1:]) == sorted(files)


def change(number: int) -> Change:
    return Change("collection.create", str(number), "uni", after={"name": "c"})


async def test_events_that_two_replicas_send_at_once_are_recorded_once(
    tmp_path: Path, database: str
) -> None:
    async with (
        serving(f"sqlite:///{tmp_path}/heddle.db") as service,
        aclosing(FilesDatabase(database)) as one,
        aclosing(FilesDatabase(database)) as other,
    ):
        stub = AuditServiceStub(service.connection)
        outboxes = [AuditOutbox(DatabaseEvents(each), stub) for each in (one, other)]
        async with outboxes[0].sending(CREDENTIALS), outboxes[1].sending(CREDENTIALS):
            added = (outboxes[number % 2].add(change(number)) for number in range(60))
            await asyncio.gather(*added)
            await asyncio.gather(*(each.sent() for each in outboxes))
            recorded = await created(service, 60)
    assert sorted(recorded, key=int) == [str(number) for number in range(60)]


async def test_a_copy_of_waiting_events_has_the_numbers_that_they_get(database: str) -> None:
    async with aclosing(FilesDatabase(database)) as opened:
        waiting = DatabaseEvents(opened)
        for number in range(3):
            await waiting.add(pb.AuditEvent(object_id=str(number)).SerializeToString())
            if number == 0:
                await waiting.first()
        rows = [row async for row in outbox_rows.rows(database, Path("unused"))]
        recorder, stored = await waiting.first()
        assert rows[0] == {"recorder": recorder, "last": 3}
        assert [row["number"] for row in rows[1:]] == [each.number for each in stored] == [1, 2, 3]
        assert [each.event.object_id for each in stored] == ["0", "1", "2"]
        await waiting.forget(2)
        assert [each.number for each in (await waiting.first())[1]] == [3]
