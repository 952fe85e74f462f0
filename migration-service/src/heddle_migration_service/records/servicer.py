"""`heddle.migration.v1.RecordService`."""

import asyncio
import random
from dataclasses import replace
from typing import Any

import grpc
from heddle.assistant.v1 import rows_pb2
from heddle.assistant.v1.rows_pb2_grpc import RowServiceAsyncStub
from heddle.migration.v1 import record_pb2 as pb
from heddle.migration.v1 import record_pb2_grpc as pb_grpc
from heddle_conversion import dump, parse
from heddle_runtime.errors import (
    ConflictError,
    InvalidRequestError,
    MalformedAssistantError,
    from_rpc,
)
from heddle_runtime.identity.call_metadata import Context, call_options

from heddle_migration_service.metadata.legacy_edit import legacy_edit, legacy_new
from heddle_migration_service.records.fields import RecordFields, errors_about_records
from heddle_migration_service.records.view import (
    changed_columns,
    columns_of_request,
    columns_of_row,
    metadata_of_request,
    record_of_row,
    wrong_metadata,
)

_MAX_TRIES = 50
_MAX_PAUSE_SECONDS = 0.02


class RecordServicer(pb_grpc.RecordServiceServicer):
    """Translates between LAMB's form of an assistant and the rows of the assistants service."""

    def __init__(self, rows: RowServiceAsyncStub) -> None:
        self._rows = rows

    async def GetRecord(
        self, request: pb.GetRecordRequest, context: Context
    ) -> pb.GetRecordResponse:
        """Return one record. A forbidden one gets the same answer as a missing one."""
        row_request = rows_pb2.GetRowRequest(id=request.id)
        try:
            response = await self._rows.GetRow(row_request, **call_options(context))
        except grpc.aio.AioRpcError as error:
            response = await self._malformed_row(request.id, error, context)
        return pb.GetRecordResponse(
            record=record_of_row(response.row),
            etag=response.etag,
            changeable=response.changeable,
        )

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
        columns = replace(columns_of_row(row), exact=not request.imported)
        place = RecordFields({}, None)
        try:
            metadata = metadata_of_request(request.record)
            with wrong_metadata():
                document = legacy_new(metadata, columns)
        except InvalidRequestError:
            if not request.imported:
                raise
            row.metadata = request.record.metadata_json
        else:
            row.metadata = dump(document)
            place = RecordFields(document, metadata)
        with errors_about_records(place):
            response = await self._rows.CreateRow(
                rows_pb2.CreateRowRequest(row=row, imported=request.imported),
                **call_options(context),
            )
        return pb.CreateRecordResponse(
            record=record_of_row(response.row),
            etag=response.etag,
            warnings=place.warnings(response.warnings),
        )

    async def UpdateRecord(
        self, request: pb.UpdateRecordRequest, context: Context
    ) -> pb.UpdateRecordResponse:
        """Change what the request sets, again if the assistant changes at the same time."""
        for _ in range(_MAX_TRIES):
            try:
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
        metadata = metadata_of_request(request.record)
        row_request = rows_pb2.GetRowRequest(id=request.id, to_change=True)
        try:
            with errors_about_records(RecordFields({}, None)):
                before = await self._rows.GetRow(row_request, **call_options(context))
        except MalformedAssistantError as error:
            if metadata is None:
                message = f"{error.message} Send its metadata, too, to repair it."
                raise MalformedAssistantError(message, error.violations) from error
            before = await self._malformed_row(request.id, error, context)
            row, document = _repaired(request.record, metadata, before.row)
        else:
            stored = parse(before.row.metadata)
            row = changed_columns(columns_of_request(request.record), before.row, stored)
            with wrong_metadata():
                columns = columns_of_row(before.row)
                document = legacy_edit(stored, columns, metadata, columns_of_row(row))
        row.id, row.metadata = request.id, dump(document)
        place = RecordFields(document, metadata)
        update = rows_pb2.UpdateRowRequest(row=row, etag=request.etag or before.etag)
        with errors_about_records(place):
            response = await self._rows.UpdateRow(update, **call_options(context))
        return pb.UpdateRecordResponse(
            record=record_of_row(response.row),
            etag=response.etag,
            warnings=place.warnings(response.warnings),
        )

    async def _malformed_row(
        self, identifier: str, error: Exception, context: Context
    ) -> rows_pb2.GetRowResponse:
        """Return a row whose metadata is malformed, as it is stored.

        Raises:
            Exception: `error`, if it is another one, or if the caller may not read the row.
        """
        failure = from_rpc(error) if isinstance(error, grpc.aio.AioRpcError) else error
        if not isinstance(failure, MalformedAssistantError):
            raise error
        request = rows_pb2.GetRowRequest(id=identifier, as_stored=True)
        try:
            return await self._rows.GetRow(request, **call_options(context))
        except grpc.aio.AioRpcError:
            raise error from None


def _repaired(
    record: pb.Record, metadata: dict[str, Any], stored: rows_pb2.AssistantRow
) -> tuple[rows_pb2.AssistantRow, dict[str, Any]]:
    """Return the columns and the metadata that replace those of a malformed row."""
    row = columns_of_request(record)
    columns, old = columns_of_row(row), columns_of_row(stored)
    if columns.top_k is None:
        columns = replace(columns, top_k=old.top_k)
    if columns.collections is None:
        columns = replace(columns, collections=old.collections)
    with wrong_metadata():
        return row, legacy_new(metadata, replace(columns, exact=True))
