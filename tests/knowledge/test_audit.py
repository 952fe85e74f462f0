"""Changes of knowledge are in the audit log, also if the assistants service restarts meanwhile."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from assistants.audit.reading import changed, events, faults
from assistants.serving import Service, serving
from heddle.audit.v1 import audit_pb2 as pb
from heddle.audit.v1.audit_pb2_grpc import AuditServiceStub
from heddle_knowledge.audit.events import WaitingEvents
from heddle_knowledge.audit.recording import AuditOutbox
from heddle_runtime.contract.audit import Change
from heddle_runtime.identity.call_metadata import CALLER, Caller
from heddle_runtime.identity.callers import Identity
from heddle_runtime.identity.service_credentials import ServiceCredentials
from knowledge.opening import waiting_events

ADA = Identity("ada@uni.example", "uni", ("creator",), key_id="k1")
CREDENTIALS = ServiceCredentials("heddle-knowledge")


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    """The assistants service, over a database of its own."""
    CALLER.set(Caller("req_1", ADA))
    async with serving(f"sqlite:///{tmp_path}/heddle.db") as running:
        yield running


def change(number: int) -> Change:
    """Return the change of a collection."""
    return Change("collection.create", str(number), "uni", after={"name": f"c{number}"})


async def recorded(service: Service, count: int) -> list[pb.AuditEvent]:
    """Return the events of the log, once there are so many."""
    async with asyncio.timeout(30):
        while len(log := await events(service)) < count:
            await asyncio.sleep(0.01)
    return log


@pytest.fixture
async def waiting(tmp_path: Path) -> AsyncIterator[WaitingEvents]:
    async with waiting_events(tmp_path) as events_of_service:
        yield events_of_service


async def test_events_are_recorded_with_their_actor(
    service: Service, waiting: WaitingEvents
) -> None:
    outbox = AuditOutbox(waiting, AuditServiceStub(service.connection))
    async with outbox.sending(CREDENTIALS):
        for number in range(3):
            await outbox.add(change(number))
        log = await recorded(service, 3)
    assert [each.object_id for each in log] == ["0", "1", "2"]
    assert {(each.actor.subject, each.organization, each.actor.key_id) for each in log} == {
        (ADA.subject, "uni", "k1")
    }
    assert {each.request_id for each in log} == {"req_1"}
    assert changed(log[0]) == {"name": (None, "c0")}
    assert await faults(service) == []


async def test_events_of_an_earlier_run_are_sent_once(
    service: Service, waiting: WaitingEvents
) -> None:
    stub = AuditServiceStub(service.connection)
    stopped = AuditOutbox(waiting, stub)
    for number in range(2):
        await stopped.add(change(number))  # the process ends before it sends them
    outbox = AuditOutbox(waiting, stub)
    # As if it had ended before it forgot them.
    recorder, stored = await waiting.first()
    request = pb.RecordAuditEventsRequest(recorder=recorder, events=stored)
    await CREDENTIALS.call(stub.RecordAuditEvents, request)
    async with outbox.sending(CREDENTIALS):
        await outbox.add(change(2))
        log = await recorded(service, 3)
    assert [each.object_id for each in log] == ["0", "1", "2"]
