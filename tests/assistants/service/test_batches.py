"""`BatchService`: batches are claimed by one process at a time, and each line has one result."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from assistants.serving import ADA, ADMIN, Service
from heddle.conversation.v1 import batches_pb2 as pb
from heddle.conversation.v1.batches_pb2_grpc import BatchServiceStub
from heddle_assistants.batches.servicer import MAX_RUNNING, expire
from heddle_assistants.database.schema import batch_results, batches
from heddle_runtime.errors import ConflictError, InvalidRequestError, ResourceExhaustedError
from heddle_runtime.identity.callers import SERVICE, Identity
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import func, select, update

WORKER = Identity("heddle-gateway", scopes=(SERVICE,))


class Client:
    """The calls of an owner, and of a process."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def owner(self, name: str, identity: Identity = ADA, **members: Any) -> Any:
        caller = self._service.as_(identity)
        method = getattr(BatchServiceStub(caller.connection), name)
        return await caller.ask(method, getattr(pb, f"{name}Request")(**members))

    async def create(self, number: int, lines: int = 3) -> str:
        batch = pb.Batch(
            id=f"batch_{number}", document_json="{}", status="in_progress", line_count=lines
        )
        return str((await self.owner("CreateBatch", batch=batch)).batch.id)

    async def claim(self, claimant: str) -> pb.ClaimBatchResponse:
        claimed: pb.ClaimBatchResponse = await self.owner("ClaimBatch", WORKER, claimant=claimant)
        return claimed

    async def report(self, name: str, claimant: str, lines: Sequence[int] = (), **more: Any) -> Any:
        results = [
            pb.BatchResult(line=each, failed=each == 1, document_json=json.dumps(each))
            for each in lines
        ]
        response = await self.owner(
            "ReportBatch", id=name, claimant=claimant, results=results, **more
        )
        return response.batch


async def test_a_batch_is_worked_on_by_one_process(service: Service) -> None:
    client = Client(service)
    assert not (await client.claim("a")).HasField("batch")
    name = await client.create(1)
    claimed = await client.claim("a")
    assert (claimed.batch.id, claimed.owner, claimed.organization) == (name, ADA.subject, "uni")
    assert (list(claimed.scopes), claimed.disabled) == (list(ADA.scopes), False)
    assert not (await client.claim("b")).HasField("batch")
    await client.report(name, "a", [0, 1])
    with pytest.raises(ConflictError):
        await client.report(name, "b", [2])
    again = await client.report(name, "a", [1, 2], release=True)
    assert (again.completed_count, again.failed_count) == (2, 1)
    assert (await client.claim("b")).batch.id == name
    with pytest.raises(ConflictError):
        await client.report(name, "a")
    with pytest.raises(InvalidRequestError):
        await client.report(name, "b", [3])
    listed = (await client.owner("ListBatchResults", id=name, from_line=1)).results
    assert [(each.line, each.failed, each.document_json) for each in listed] == [
        (1, True, "1"),
        (2, False, "2"),
    ]
    ended = await client.report(name, "b", ending="completed", document_json='{"a": 1}')
    assert (ended.status, ended.document_json) == ("completed", '{"a": 1}')
    assert not (await client.owner("ListBatchResults", id=name)).results
    with pytest.raises(ConflictError):
        await client.report(name, "b", [0])
    assert (await client.owner("CancelBatch", id=name)).batch.status == "completed"
    assert not (await client.claim("a")).HasField("batch")


async def test_the_claim_of_a_dead_process_ends(service: Service, database: Database) -> None:
    client = Client(service)
    name = await client.create(1)
    await client.claim("a")
    assert (await client.owner("CancelBatch", id=name)).batch.status == "cancelling"
    async with database.writing() as connection:
        await connection.execute(update(batches).values(claimed_until=1))
    claimed = await client.claim("b")
    assert (claimed.batch.id, claimed.batch.status) == (name, "cancelling")


async def test_batches_are_few_and_end(service: Service, database: Database) -> None:
    client = Client(service)
    for number in range(MAX_RUNNING):
        await client.create(number)
    with pytest.raises(ResourceExhaustedError, match=str(MAX_RUNNING)):
        await client.create(MAX_RUNNING)
    first = await client.owner("ListBatches", limit=4)
    assert (first.batches[0].id, first.has_more) == ("batch_9", True)
    rest = await client.owner("ListBatches", after=first.batches[-1].id)
    assert [each.id for each in rest.batches] == [f"batch_{n}" for n in (5, 4, 3, 2, 1, 0)]
    assert not (await client.owner("ListBatches", ADMIN)).batches
    await client.claim("a")
    await client.report("batch_0", "a", [0])
    async with database.writing() as connection:
        await connection.execute(update(batches).values(created_at=1))
    await expire(database)
    async with database.reading() as connection:
        for table in (batches, batch_results):
            assert await connection.scalar(select(func.count()).select_from(table)) == 0
