"""`heddle.migration.v1.RecordService`."""

import asyncio
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import grpc
from heddle.assistant.v1 import rows_pb2
from heddle.migration.v1 import record_pb2 as pb
from heddle.migration.v1 import record_pb2_grpc as pb_grpc
from heddle_conversion import dump, legacy_edit, legacy_new, parse
from heddle_runtime.call_metadata import Context, call_options
from heddle_runtime.errors import ConflictError, HeddleError, Violation, from_rpc

from heddle_migration_service.batch_jobs.migrate import legacy_columns
from heddle_migration_service.records.view import (
    changed_columns,
    columns_of_request,
    metadata_of_request,
    record_of_row,
    wrong_metadata,
)

if TYPE_CHECKING:
    from heddle.assistant.v1.rows_pb2_grpc import RowServiceAsyncStub

_MAX_TRIES = 50
_MAX_PAUSE_SECONDS = 0.02


class RecordServicer(pb_grpc.RecordServiceServicer):
    """Translates between LAMB's form of an assistant and the rows of the assistants service."""

    def __init__(self, rows: "RowServiceAsyncStub") -> None:
        self._rows = rows

    async def GetRecord(
        self, request: pb.GetRecordRequest, context: Context
    ) -> pb.GetRecordResponse:
        """Return one record. A forbidden one gets the same answer as a missing one."""
        row_request = rows_pb2.GetRowRequest(id=request.id)
        response = await self._rows.GetRow(row_request, **call_options(context))
        return pb.GetRecordResponse(record=record_of_row(response.row), etag=response.etag)

    async def ListRecords(
        self, request: pb.ListRecordsRequest, context: Context
    ) -> pb.ListRecordsResponse:
        """List records in the format that they are stored in."""
        row_request = rows_pb2.ListRowsRequest(
            page_size=request.page_size, page_token=request.page_token, skip=request.skip
        )
        response = await self._rows.ListRows(row_request, **call_options(context))
        return pb.ListRecordsResponse(
            records=map(record_of_row, response.rows),
            next_page_token=response.next_page_token,
            total_size=response.total_size,
        )

    async def CreateRecord(
        self, request: pb.CreateRecordRequest, context: Context
    ) -> pb.CreateRecordResponse:
        """Create an assistant."""
        row = columns_of_request(request.record)
        row.owner = request.record.owner
        with wrong_metadata():
            document = legacy_new(metadata_of_request(request.record), legacy_columns(row))
        row.metadata = dump(document)
        with _errors_about_records():
            response = await self._rows.CreateRow(
                rows_pb2.CreateRowRequest(row=row), **call_options(context)
            )
        return pb.CreateRecordResponse(record=record_of_row(response.row), etag=response.etag)

    async def UpdateRecord(
        self, request: pb.UpdateRecordRequest, context: Context
    ) -> pb.UpdateRecordResponse:
        """Change what the request sets, again if the assistant changes at the same time."""
        for _ in range(_MAX_TRIES):
            try:
                with _errors_about_records():
                    return await self._update(request, context)
            except ConflictError:
                if request.etag:
                    raise
            await asyncio.sleep(random.uniform(0, _MAX_PAUSE_SECONDS))  # noqa: S311 - no secret
        message = f"The assistant {request.id!r} changes all the time. Try again."
        raise ConflictError(message, assistant=request.id)

    async def _update(
        self, request: pb.UpdateRecordRequest, context: Context
    ) -> pb.UpdateRecordResponse:
        row_request = rows_pb2.GetRowRequest(id=request.id, to_change=True)
        before = await self._rows.GetRow(row_request, **call_options(context))
        stored = parse(before.row.metadata)
        row = changed_columns(columns_of_request(request.record), before.row, stored)
        row.id = request.id
        with wrong_metadata():
            document = legacy_edit(
                stored,
                legacy_columns(before.row),
                metadata_of_request(request.record),
                legacy_columns(row),
            )
        row.metadata = dump(document)
        update = rows_pb2.UpdateRowRequest(row=row, etag=request.etag or before.etag)
        response = await self._rows.UpdateRow(update, **call_options(context))
        return pb.UpdateRecordResponse(record=record_of_row(response.row), etag=response.etag)


@contextmanager
def _errors_about_records() -> Iterator[None]:
    """Let errors of the assistants service name the fields of the caller's request."""
    try:
        yield
    except grpc.aio.AioRpcError as rpc_error:
        error = from_rpc(rpc_error)
        if any(each.field.startswith("row.") for each in error.violations):
            violations = [
                Violation(f"record.{each.field.removeprefix('row.')}", each.description)
                for each in error.violations
            ]
            error = _with_violations(error, violations)
        raise error from rpc_error


def _with_violations(error: HeddleError, violations: list[Violation]) -> HeddleError:
    kind = type(error)
    return kind(error.message, violations, retry_after=error.retry_after, **error.metadata)
