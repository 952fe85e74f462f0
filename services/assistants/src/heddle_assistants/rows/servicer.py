"""`heddle.assistant.v1.RowService` and `RowBatchService`."""

from dataclasses import dataclass
from typing import Any

from heddle.assistant.v1 import rows_pb2 as pb
from heddle.assistant.v1 import rows_pb2_grpc as pb_grpc
from heddle_conversion import StoredColumns, convert_row, newest, parse, to_contract, version_of
from heddle_conversion.fields import metadata_field
from heddle_runtime.contract.paging import page_size, write_token
from heddle_runtime.errors import (
    InvalidRequestError,
    MalformedAssistantError,
    PermissionDeniedError,
    Violation,
)
from heddle_runtime.identity.call_metadata import Context, caller
from heddle_runtime.identity.callers import SERVICE, Identity
from heddle_runtime.identity.permissions import may_administer

from heddle_assistants.access import ASSISTANTS, SharedThing, may_edit, may_see, may_use
from heddle_assistants.catalog.all_assistants import Catalog
from heddle_assistants.catalog.checking import violations_of
from heddle_assistants.database.paging import fitting, row_before
from heddle_assistants.field_checks import (
    NO_USER,
    deprecated_connector,
    may_be_user,
    name_violations,
    nul_violations,
    refuse_nul,
    require,
)
from heddle_assistants.imports.rows import RowImport
from heddle_assistants.repository.batches import MAX_ROWS
from heddle_assistants.repository.messages import (
    folder_message,
    outline_row,
    read_top_k,
    row_message,
    stored_message,
)
from heddle_assistants.repository.migrating import Stored
from heddle_assistants.repository.reader import Reader, contract
from heddle_assistants.repository.rows import Rows
from heddle_assistants.repository.writer import Columns, Writer, no_assistant
from heddle_assistants.rows.conversion import RowConversion
from heddle_assistants.validation import Findings, Validation, messages

_TEXT_COLUMNS = (
    *("name", "description", "system_prompt", "prompt_template", "rag_collections"),
    *("rag_endpoint", "pre_retrieval_endpoint", "post_retrieval_endpoint"),
)


@dataclass(eq=False, slots=True)
class RowServicer(pb_grpc.RowServiceServicer):
    """Serves single rows, under the rules of access of assistants."""

    catalog: Catalog
    rows: Rows
    reader: Reader
    writer: Writer
    validation: Validation

    async def GetRow(self, request: pb.GetRowRequest, context: Context) -> pb.GetRowResponse:
        """Return one row. A forbidden one gets the same answer as a missing one."""
        identity = caller().identity
        if request.to_change:
            await self.catalog.refuse_folder(request.id, identity)
        elif folder_assistant := await self.catalog.in_folder(request.id):
            allowed = may_see if request.as_stored else may_use
            if not allowed(identity, folder_assistant):
                raise no_assistant(request.id)
            message = folder_message(folder_assistant)
            return _shown(message, folder_assistant.etag, identity, folder_assistant)
        if not (request.to_change or request.as_stored):
            stored = await self.reader.stored(request.id, identity)
            if stored is None:
                raise no_assistant(request.id)
            return _shown(stored_message(stored), stored.row.etag, identity, stored.row)
        row = await self.rows.get(request.id)
        if row is None or not (may_edit if request.to_change else may_see)(identity, row):
            raise no_assistant(request.id)
        if request.as_stored:
            return _shown(row_message(row, row.metadata), row.etag, identity, row)
        converted = Stored(row, convert_row(row.id, row.metadata, row.legacy).metadata)
        return _shown(stored_message(converted), row.etag, identity, row)

    async def ListRows(self, request: pb.ListRowsRequest, context: Context) -> pb.ListRowsResponse:
        """List rows as they are stored."""
        size = page_size(request.page_size)
        after = row_before(request.page_token)
        require(request.skip >= 0, "skip", "must not be negative")
        where = ASSISTANTS.editable(caller().identity)
        rows = await self.rows.after(after, size + 1, where, skip=request.skip)
        page = fitting(row_message(row, row.metadata) for row in rows[:size])
        return pb.ListRowsResponse(
            rows=page,
            next_page_token=write_token(page[-1].id) if len(page) < len(rows) else "",
            total_size=await self.rows.count(where),
        )

    async def CreateRow(
        self, request: pb.CreateRowRequest, context: Context
    ) -> pb.CreateRowResponse:
        """Insert a new assistant."""
        identity, row = caller().identity, request.row
        columns = _columns(row) | {"owner": row.owner}
        wrong_columns = [
            *name_violations(row.name, "row.name"),
            *([] if may_be_user(row.owner) else [Violation("row.owner", NO_USER)]),
            *nul_violations(columns, "row."),
        ]
        document, findings = await self._new_document(row, context, imported=request.imported)
        findings.violations[:0] = wrong_columns
        findings.refuse()
        (await self.catalog.name_check(identity))(row.name)
        taken = await self.catalog.taken()
        stored = await self.writer.insert(document, columns, identity, taken)
        message = row_message(stored.row, stored.row.metadata)
        warnings = messages(findings.warnings)
        return pb.CreateRowResponse(row=message, etag=stored.row.etag, warnings=warnings)

    async def UpdateRow(
        self, request: pb.UpdateRowRequest, context: Context
    ) -> pb.UpdateRowResponse:
        """Change the columns that the request sets."""
        identity, row = caller().identity, request.row
        await self.catalog.refuse_folder(row.id, identity)
        columns = _columns(row)
        refuse_nul(columns, "row.")
        before_row, before = await self.reader.before_edit(row.id, identity)
        document, findings = None, Findings()
        if row.HasField("metadata"):
            document = _document(row)
            findings = await self._findings(document, before, context)
        if columns.get("name", before_row.name) != before_row.name:
            findings.violations[:0] = name_violations(row.name, "row.name")
        findings.refuse()
        check_name = await self.catalog.name_check(identity)

        def edit(stored: Stored) -> tuple[dict[str, Any], Columns]:
            if columns.get("name", stored.row.name) != stored.row.name:
                check_name(row.name)
            return stored.document if document is None else document, columns

        stored = await self.writer.edit(
            row.id, identity, request.etag, edit, repairs=document is not None
        )
        warnings = messages(findings.warnings)
        return pb.UpdateRowResponse(
            row=stored_message(stored), etag=stored.row.etag, warnings=warnings
        )

    async def _new_document(
        self, row: pb.AssistantRow, context: Context, *, imported: bool
    ) -> tuple[dict[str, Any] | str, Findings]:
        """Return the metadata of a new row; the text of malformed metadata that is imported."""
        try:
            document = _document(row)
        except InvalidRequestError as error:
            if not imported:
                raise
            return row.metadata, Findings(warnings=list(error.violations))
        findings = await self._findings(document, None, context)
        if imported:
            findings.accept()
        return document, findings

    async def _findings(
        self, document: dict[str, Any], before: Stored | None, context: Context
    ) -> Findings:
        assistant = to_contract(document, StoredColumns(id=""))
        stored = None if before is None else contract(before)
        findings = await self.validation.check(assistant, stored, context)
        violations = (*violations_of(assistant), *findings.violations)
        field = "row.metadata.connector"
        deprecated = deprecated_connector(document.get("connector"), field)
        return Findings(
            list(dict.fromkeys(map(_row_violation, violations))),
            [*map(_row_violation, findings.warnings), *deprecated],
        )


def _row_violation(violation: Violation) -> Violation:
    path = metadata_field(violation.field)
    return Violation(f"row.metadata.{path}".rstrip("."), violation.description)


def _shown(
    row: pb.AssistantRow, etag: str, identity: Identity, it: SharedThing
) -> pb.GetRowResponse:
    if not may_see(identity, it):
        outline_row(row)
    return pb.GetRowResponse(row=row, etag=etag, changeable=may_edit(identity, it))


def _columns(row: pb.AssistantRow) -> dict[str, Any]:
    columns: dict[str, Any] = {
        name: getattr(row, name)
        for name in _TEXT_COLUMNS
        if row.HasField(name)  # type: ignore[arg-type] # names of fields
    }
    if row.HasField("rag_top_k_json"):
        columns["rag_top_k"] = read_top_k(row.rag_top_k_json)
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


class RowBatchServicer(pb_grpc.RowBatchServiceServicer):
    """Serves batches of rows."""

    def __init__(self, conversion: RowConversion, importer: RowImport) -> None:
        self._conversion = conversion
        self._importer = importer

    async def ConvertRows(
        self, request: pb.ConvertRowsRequest, context: Context
    ) -> pb.ConvertRowsResponse:
        """Migrate or restore a batch."""
        _require_service()
        require(len(request.ids) <= MAX_ROWS, "ids", f"must be at most {MAX_ROWS}")
        return await self._conversion.run(request)

    async def ImportRows(
        self, request: pb.ImportRowsRequest, context: Context
    ) -> pb.ImportRowsResponse:
        """Insert the rows of a batch that are new."""
        _require_service()
        rows = await self._importer.run(request.rows, request.earlier, dry_run=request.dry_run)
        return pb.ImportRowsResponse(rows=rows)


def _require_service() -> None:
    identity = caller().identity
    if not (SERVICE in identity.scopes or may_administer(identity)):
        raise PermissionDeniedError(
            "Only a service or a caller with the scope 'admin' may do this."
        )
