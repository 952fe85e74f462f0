"""`heddle.migration.v1.RecordService`."""

from functools import partial
from typing import Any

from heddle.migration.v1 import record_pb2 as pb
from heddle.migration.v1 import record_pb2_grpc as pb_grpc
from heddle_runtime.call_metadata import caller
from heddle_runtime.errors import InvalidRequestError, Violation
from heddle_runtime.paging import page_size, write_token
from heddle_runtime.server_interceptor import Context
from sqlalchemy import and_

from heddle_migration_service.access import changeable, may_use
from heddle_migration_service.assistants.catalog import Catalog
from heddle_migration_service.conversion import legacy_edit, legacy_new
from heddle_migration_service.kept.migrating import Stored
from heddle_migration_service.kept.paging import fitting, row_before
from heddle_migration_service.kept.reader import Reader
from heddle_migration_service.kept.rows import Rows
from heddle_migration_service.kept.writer import Columns, Writer, no_assistant
from heddle_migration_service.records.view import (
    columns_of_request,
    legacy_of_request,
    metadata_of_request,
    record_of_kept,
    record_of_row,
    record_of_stored,
    wrong_metadata,
)
from heddle_migration_service.texts import require_name


class RecordServicer(pb_grpc.RecordServiceServicer):
    """Translates between LAMB's view and what keeps assistants."""

    def __init__(self, catalog: Catalog, rows: Rows, reader: Reader, writer: Writer) -> None:
        self._catalog = catalog
        self._rows = rows
        self._reader = reader
        self._writer = writer

    async def GetRecord(
        self, request: pb.GetRecordRequest, context: Context
    ) -> pb.GetRecordResponse:
        """Return one record. A forbidden one is answered like a missing one."""
        identity = caller().identity
        if kept := await self._catalog.in_folder(request.id):
            if may_use(identity, kept):
                return pb.GetRecordResponse(record=record_of_kept(kept), etag=kept.etag)
        elif stored := await self._reader.stored(request.id, partial(may_use, identity)):
            return pb.GetRecordResponse(record=record_of_stored(stored), etag=stored.row.etag)
        raise no_assistant(request.id)

    async def ListRecords(
        self, request: pb.ListRecordsRequest, context: Context
    ) -> pb.ListRecordsResponse:
        """List records, as they are kept."""
        size = page_size(request.page_size, default=100, maximum=1000)
        after = row_before(request.page_token)
        if request.skip < 0:
            violation = Violation("skip", "must not be negative")
            raise InvalidRequestError("The request is not valid.", [violation])
        where = and_(await self._catalog.in_sight(), changeable(caller().identity))
        rows = await self._rows.after(after, size + 1, where, skip=request.skip)
        found = fitting(map(record_of_row, rows[:size]))
        return pb.ListRecordsResponse(
            records=found,
            next_page_token=write_token(found[-1].id) if len(found) < len(rows) else "",
            total_size=await self._rows.count(where),
        )

    async def CreateRecord(
        self, request: pb.CreateRecordRequest, context: Context
    ) -> pb.CreateRecordResponse:
        """Keep a new assistant."""
        identity, record = caller().identity, request.record
        require_name(record.name, "record.name")
        columns = columns_of_request(record)
        body = metadata_of_request(record)
        with wrong_metadata():
            document = legacy_new(body, legacy_of_request(columns))
        await self._catalog.refuse_name(record.name, identity)
        stored = await self._writer.insert(document, columns, identity, await self._catalog.taken())
        return pb.CreateRecordResponse(record=record_of_stored(stored), etag=stored.row.etag)

    async def UpdateRecord(
        self, request: pb.UpdateRecordRequest, context: Context
    ) -> pb.UpdateRecordResponse:
        """Change what the request sets."""
        identity, record = caller().identity, request.record
        await self._catalog.refuse_folder(request.id, identity)
        body = metadata_of_request(record)
        check_name = await self._catalog.name_check(identity)

        def edit(stored: Stored) -> tuple[dict[str, Any], Columns]:
            columns = columns_of_request(record, stored)
            if columns.get("name", stored.row.name) != stored.row.name:
                require_name(record.name, "record.name")
                check_name(record.name)
            with wrong_metadata():
                document = legacy_edit(
                    stored.document, stored.row.legacy, body, legacy_of_request(columns)
                )
            return document, columns

        stored = await self._writer.edit(request.id, identity, request.etag, edit)
        return pb.UpdateRecordResponse(record=record_of_stored(stored), etag=stored.row.etag)
