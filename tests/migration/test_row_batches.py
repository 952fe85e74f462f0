"""Calls of the assistants service outlive its restart."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import grpc
import pytest
from heddle.assistant.v1 import rows_pb2 as pb
from heddle.assistant.v1 import rows_pb2_grpc as pb_grpc
from heddle_migration_service.row_batches import RowBatches
from heddle_runtime.errors import UnavailableError
from heddle_runtime.identity.call_metadata import Context
from heddle_runtime.identity.service_credentials import ServiceCredentials
from heddle_runtime.rpc.client import channel
from heddle_runtime.serving.server import Binding, bind, running
from heddle_runtime.settings.service import ServiceSettings
from runtime.ports import free_port

ROWS = pb.DESCRIPTOR.services_by_name["RowBatchService"]


class Restoring(pb_grpc.RowBatchServiceServicer):
    """Restores whatever it is asked for."""

    async def ConvertRows(
        self, request: pb.ConvertRowsRequest, context: Context
    ) -> pb.ConvertRowsResponse:
        return pb.ConvertRowsResponse(ids=request.ids)


@asynccontextmanager
async def restoring() -> AsyncGenerator[Sequence[Binding]]:
    servicer = Restoring()  # type: ignore[abstract] # nobody calls the other methods
    yield [bind(pb_grpc.add_RowBatchServiceServicer_to_server, servicer)]


async def restored(address: str, patience_seconds: float) -> list[int]:
    async with channel(address, ROWS) as opened:
        stub = pb_grpc.RowBatchServiceStub(opened)
        batches = RowBatches(stub, ServiceCredentials("migration"), patience_seconds)
        request = pb.ConvertRowsRequest(ids=[7], restore=True)
        return list((await batches.convert(request)).ids)


async def test_a_write_waits_for_a_service_that_restarts() -> None:
    address = f"127.0.0.1:{free_port()}"
    settings = ServiceSettings.model_validate({"listen": address, "drain_wait": 0})
    waiting = asyncio.create_task(restored(address, 60))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.shield(waiting), 1)
    async with running(restoring(), settings):
        assert await waiting == [7]


async def test_it_does_not_wait_for_ever() -> None:
    with pytest.raises(UnavailableError) as failure:
        await restored(f"127.0.0.1:{free_port()}", 0)
    assert isinstance(failure.value.__cause__, grpc.aio.AioRpcError)
