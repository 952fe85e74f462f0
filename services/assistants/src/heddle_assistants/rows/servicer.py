"""`heddle.assistant.v1.RowService`."""

import json
from typing import Any

from heddle.assistant.v1 import rows_pb2 as pb
from heddle.assistant.v1 import rows_pb2_grpc as pb_grpc
from heddle_conversion import convert_row, newest, parse, version_of
from heddle_runtime.call_metadata import Context, caller
from heddle_runtime.errors import InvalidRequestError, MalformedAssistantError, Violation
from heddle_runtime.identity import Identity
from heddle_runtime.paging import page_size, write_token
from heddle_runtime.permissions import Owned, may_change, may_inspect, may_use
from sqlalchemy import and_

from heddle_assistants.access import ASSISTANTS
from heddle_assistants.assistants.catalog import Catalog
from heddle_assistants.field_checks import NO_USER, may_be_user, refuse_nul, require_name
from heddle_assistants.repository.migrating import Stored
from heddle_assistants.repository.paging import fitting, row_before
from heddle_assistants.repository.reader import Reader
from heddle_assistants.repository.rows import Rows
from heddle_assistants.repository.writer import Columns, Writer, no_assistant
from heddle_assistants.rows.messages import (
    folder_message,
    outline_row,
    row_message,
    stored_message,
)

_TEXT_COLUMNS = (
    *("name", "description", "system_prompt", "prompt_template", "rag_collections"),
    *("rag_endpoint", "pre_retrieval_endpoint", "post_retrieval_endpoint"),
)


class RowServicer(pb_grpc.RowServiceServicer):
    """Serves single rows, under the rules of access of assistants."""

    def __init__(self, catalog: Catalog, rows: Rows, reader: Reader, writer: Writer) -> None:
        self._catalog = catalog
        self._rows = rows
        self._reader = reader
        self._writer = writer

    async def GetRow(self, request: pb.GetRowRequest, context: Context) -> pb.GetRowResponse:
        """Return one row. A forbidden one gets the same answer as a missing one."""
        identity = caller().identity
        if request.to_change:
            await self._catalog.refuse_folder(request.id, identity)
        elif folder_assistant := await self._catalog.in_folder(request.id):
            allowed = may_inspect if request.as_stored else may_use
            if not allowed(identity, folder_assistant):
                raise no_assistant(request.id)
            message = folder_message(folder_assistant)
            return _shown(message, folder_assistant.etag, identity, folder_assistant)
        if not (request.to_change or request.as_stored):
            stored = await self._reader.stored(request.id, identity)
            if stored is None:
                raise no_assistant(request.id)
            return _shown(stored_message(stored), stored.row.etag, identity, stored.row)
        row = await self._rows.get(request.id)
        if row is None or not (may_change if request.to_change else may_inspect)(identity, row):
            raise no_assistant(request.id)
        if request.as_stored:
            return pb.GetRowResponse(row=row_message(row, row.metadata), etag=row.etag)
        converted = Stored(row, convert_row(row.id, row.metadata, row.legacy).metadata)
        return pb.GetRowResponse(row=stored_message(converted), etag=row.etag)

    async def ListRows(self, request: pb.ListRowsRequest, context: Context) -> pb.ListRowsResponse:
        """List rows as they are stored."""
        size = page_size(request.page_size)
        after = row_before(request.page_token)
        if request.skip < 0:
            violation = Violation("skip", "must not be negative")
            raise InvalidRequestError("The request is not valid.", [violation])
        where = and_(await self._catalog.in_sight(), ASSISTANTS.changeable(caller().identity))
        rows = await self._rows.after(after, size + 1, where, skip=request.skip)
        page = fitting(row_message(row, row.metadata) for row in rows[:size])
        return pb.ListRowsResponse(
            rows=page,
            next_page_token=write_token(page[-1].id) if len(page) < len(rows) else "",
            total_size=await self._rows.count(where),
        )

    async def CreateRow(
        self, request: pb.CreateRowRequest, context: Context
    ) -> pb.CreateRowResponse:
        """Insert a new assistant."""
        identity, row = caller().identity, request.row
        require_name(row.name, "row.name")
        if not may_be_user(row.owner):
            raise InvalidRequestError("The row is not valid.", [Violation("row.owner", NO_USER)])
        columns = _columns(row) | {"owner": row.owner}
        refuse_nul(columns, "row.")
        document = _document(row)
        await self._catalog.refuse_name(row.name, identity)
        stored = await self._writer.insert(document, columns, identity, await self._catalog.taken())
        return pb.CreateRowResponse(row=stored_message(stored), etag=stored.row.etag)

    async def UpdateRow(
        self, request: pb.UpdateRowRequest, context: Context
    ) -> pb.UpdateRowResponse:
        """Change the columns that the request sets."""
        identity, row = caller().identity, request.row
        await self._catalog.refuse_folder(row.id, identity)
        columns = _columns(row)
        refuse_nul(columns, "row.")
        document = _document(row) if row.HasField("metadata") else None
        check_name = await self._catalog.name_check(identity)

        def edit(stored: Stored) -> tuple[dict[str, Any], Columns]:
            if columns.get("name", stored.row.name) != stored.row.name:
                require_name(row.name, "row.name")
                check_name(row.name)
            return stored.document if document is None else document, columns

        stored = await self._writer.edit(row.id, identity, request.etag, edit)
        return pb.UpdateRowResponse(row=stored_message(stored), etag=stored.row.etag)


def _shown(row: pb.AssistantRow, etag: str, identity: Identity, it: Owned) -> pb.GetRowResponse:
    if not may_inspect(identity, it):
        outline_row(row)
    return pb.GetRowResponse(row=row, etag=etag)


def _columns(row: pb.AssistantRow) -> dict[str, Any]:
    columns: dict[str, Any] = {
        name: getattr(row, name)
        for name in _TEXT_COLUMNS
        if row.HasField(name)  # type: ignore[arg-type] # names of fields
    }
    if row.HasField("rag_top_k_json"):
        try:
            columns["rag_top_k"] = json.loads(row.rag_top_k_json)
        except ValueError:
            violation = Violation("row.rag_top_k_json", "is not JSON")
            raise InvalidRequestError("The row is not valid.", [violation]) from None
    return columns


def _document(row: pb.AssistantRow) -> dict[str, Any]:
    try:
        document = parse(row.metadata)
        if version_of(document) == newest():
            return document
    except MalformedAssistantError as error:
        what = error.violations[0].description
    else:
        what = "is not of the newest format"
    raise InvalidRequestError(f"The metadata {what}.", [Violation("row.metadata", what)])
