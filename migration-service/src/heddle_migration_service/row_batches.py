"""Calls of `heddle.assistant.v1.RowBatchService`, in the name of this service.

A batch job may take longer than the caller's token is valid, so the calls carry this service's own.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import structlog
from google.protobuf.message import Message
from heddle.assistant.v1 import rows_pb2 as pb
from heddle.assistant.v1.rows_pb2_grpc import RowBatchServiceAsyncStub
from heddle_runtime.errors import HeddleError, UnavailableError, to_status
from heddle_runtime.identity.service_credentials import ServiceCredentials

from heddle_migration_service.row_faults import isolated

log = structlog.get_logger(__name__)
_TIMEOUT_SECONDS = 120.0
_MAX_BATCH_BYTES = 16 * 1024 * 1024  # half of what a message may have
_PAUSE_SECONDS = 0.5
ResponseT = TypeVar("ResponseT")


@dataclass(eq=False, slots=True)
class RowBatches:
    """Reads and writes batches of rows. Each method raises a `HeddleError` if the call fails.

    While the assistants service is not available, calls are repeated. That is safe: what is
    converted is not converted again, and an import leaves rows that are there as they are. Rows
    that were written before the connection broke count as unchanged.
    """

    stub: RowBatchServiceAsyncStub
    credentials: ServiceCredentials
    patience_seconds: float = 60.0

    async def convert(self, request: pb.ConvertRowsRequest) -> pb.ConvertRowsResponse:
        """Migrate or restore a batch of assistants."""
        return await self._call(self.stub.ConvertRows, request)

    async def import_rows(
        self,
        field: str,
        rows: Sequence[Message],
        earlier: Sequence[Message] = (),
        *,
        dry_run: bool,
    ) -> Sequence[pb.ImportedRow]:
        """Insert rows; return what became of each.

        Args:
            field: The field of `RowBatch` that they are sent in.
            rows: As many as fit into a request.
            earlier: Of a dry run, the keys of rows before them.
            dry_run: Only say what would happen.
        """

        async def insert(rows: Sequence[Message]) -> Sequence[pb.ImportedRow]:
            request = pb.ImportRowsRequest(
                rows=row_batch(field, rows), earlier=row_batch(field, earlier), dry_run=dry_run
            )
            return (await self._call(self.stub.ImportRows, request)).rows

        return await isolated(rows, insert, _refused)

    async def _call(
        self, method: Callable[..., Awaitable[ResponseT]], request: Message
    ) -> ResponseT:
        until = time.monotonic() + self.patience_seconds
        while True:
            try:
                return await self.credentials.call(method, request, _TIMEOUT_SECONDS)
            except UnavailableError as error:
                if time.monotonic() > until:
                    raise
                log.warning("batch repeated", method=type(request).__name__, cause=error.message)
            await asyncio.sleep(_PAUSE_SECONDS)


def row_batch(field: str, rows: Sequence[Message]) -> pb.RowBatch:
    """Return what rows of one kind are sent in."""
    batch = pb.RowBatch()
    getattr(batch, field).extend(rows)
    return batch


def _refused(_: Message, error: HeddleError) -> pb.ImportedRow:
    return pb.ImportedRow(outcome=pb.IMPORT_OUTCOME_REFUSED, error=to_status(error))


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
