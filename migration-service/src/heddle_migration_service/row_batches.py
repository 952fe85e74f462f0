"""Calls of `heddle.assistant.v1.RowBatchService`, in the name of this service.

A batch job may take longer than the caller's token is valid, so the calls carry this service's own.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

import grpc
import structlog
from google.protobuf.message import Message
from heddle.assistant.v1 import rows_pb2 as pb
from heddle_runtime.call_metadata import new_call_options
from heddle_runtime.errors import UnavailableError, from_rpc
from heddle_runtime.service_credentials import ServiceCredentials

if TYPE_CHECKING:
    from heddle.assistant.v1.rows_pb2_grpc import RowBatchServiceAsyncStub

log = structlog.get_logger(__name__)
_TIMEOUT_SECONDS = 120.0
_MAX_BATCH_BYTES = 16 * 1024 * 1024  # half of what a message may have
_PAUSE_SECONDS = 0.5
ResponseT = TypeVar("ResponseT")


class RowBatches:
    """Reads and writes batches of rows. Each method raises a `HeddleError` if the call fails.

    While the assistants service is not available, calls are repeated. That is safe: a write names
    the version that was read, and an import leaves rows that are there as they are. Rows that were
    written before the connection broke count as unchanged.
    """

    def __init__(
        self,
        stub: "RowBatchServiceAsyncStub",
        credentials: ServiceCredentials,
        patience_seconds: float = 60.0,
    ) -> None:
        self._stub = stub
        self._credentials = credentials
        self._patience_seconds = patience_seconds

    async def read(self, request: pb.ReadRowsRequest) -> pb.ReadRowsResponse:
        """Return a batch of rows."""
        return await self._call(self._stub.ReadRows, request)

    async def replace(self, replacements: Sequence[pb.Replacement]) -> Sequence[int]:
        """Replace metadata; return the ids of the rows that had not changed."""
        request = pb.ReplaceRowsRequest(replacements=replacements)
        return (await self._call(self._stub.ReplaceRows, request)).ids

    async def restore(self, restorations: Sequence[pb.Restoration]) -> Sequence[int]:
        """Restore originals; return the ids of the rows that had not changed."""
        request = pb.RestoreOriginalsRequest(restorations=restorations)
        return (await self._call(self._stub.RestoreOriginals, request)).ids

    async def import_rows(
        self, rows: pb.RowBatch, earlier: pb.RowBatch, *, dry_run: bool
    ) -> Sequence[pb.ImportedRow]:
        """Insert rows; return what became of each."""
        request = pb.ImportRowsRequest(rows=rows, earlier=earlier, dry_run=dry_run)
        return (await self._call(self._stub.ImportRows, request)).rows

    async def _call(
        self, method: Callable[..., Awaitable[ResponseT]], request: Message
    ) -> ResponseT:
        until = time.monotonic() + self._patience_seconds
        while True:
            try:
                with self._credentials.as_service():
                    return await method(request, **new_call_options(_TIMEOUT_SECONDS))
            except grpc.aio.AioRpcError as rpc_error:
                error = from_rpc(rpc_error)
                if not isinstance(error, UnavailableError) or time.monotonic() > until:
                    raise error from rpc_error
                log.warning("batch repeated", method=type(request).__name__, cause=error.message)
            await asyncio.sleep(_PAUSE_SECONDS)


def ranges(messages: Sequence[Message], max_rows: int | None = None) -> Iterator[tuple[int, int]]:
    """Yield where the parts of a batch begin and end that fit a request each.

    Args:
        messages: The rows of the batch.
        max_rows: How many rows a part may have. If None, only their bytes count.
    """
    start = size = 0
    for index, message in enumerate(messages):
        row_bytes = message.ByteSize()
        size += row_bytes
        if index > start and (size > _MAX_BATCH_BYTES or index - start == max_rows):
            yield start, index
            start, size = index, row_bytes
    if messages:
        yield start, len(messages)
