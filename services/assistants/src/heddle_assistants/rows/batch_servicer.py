"""`heddle.assistant.v1.RowBatchService`."""

from heddle.assistant.v1 import rows_pb2 as pb
from heddle.assistant.v1 import rows_pb2_grpc as pb_grpc
from heddle_conversion import Conversion, newest, parse, version_of
from heddle_runtime.errors import InvalidRequestError, PermissionDeniedError, Violation
from heddle_runtime.identity.call_metadata import Context, caller
from heddle_runtime.identity.callers import SERVICE
from heddle_runtime.identity.permissions import may_administer

from heddle_assistants.database.assistant_row import BatchRow
from heddle_assistants.imports.rows import RowImport
from heddle_assistants.repository.batches import MAX_ROWS, Batches, Replacement


class RowBatchServicer(pb_grpc.RowBatchServiceServicer):
    """Serves batches of rows."""

    def __init__(self, batches: Batches, importer: RowImport) -> None:
        self._batches = batches
        self._importer = importer

    async def ReadRows(self, request: pb.ReadRowsRequest, context: Context) -> pb.ReadRowsResponse:
        """Return one batch."""
        _require_service()
        _require_size(len(request.ids), "ids")
        if request.to_replace:
            self._batches.require_migration()
        counted = not (request.after_id or request.ids)
        total = await self._batches.count() if counted else 0
        rows = await self._batches.read(request.after_id, request.ids)
        message = _original_message if request.view == pb.ROW_VIEW_ORIGINAL else _conversion_message
        response = pb.ReadRowsResponse(rows=map(message, rows), total_size=total)
        if request.with_faults:
            faults = await self._importer.faults([each for each in rows if not each.is_current])
            for each in response.rows:
                each.faults.extend(faults.get(each.id, ()))
        return response

    async def ReplaceRows(
        self, request: pb.ReplaceRowsRequest, context: Context
    ) -> pb.ReplaceRowsResponse:
        """Replace the metadata of a batch."""
        _require_service()
        _require_size(len(request.replacements), "replacements")
        replacements = [
            _replacement(each, f"replacements[{index}]")
            for index, each in enumerate(request.replacements)
        ]
        return pb.ReplaceRowsResponse(ids=await self._batches.replace(replacements))

    async def RestoreOriginals(
        self, request: pb.RestoreOriginalsRequest, context: Context
    ) -> pb.RestoreOriginalsResponse:
        """Restore the originals of a batch."""
        _require_service()
        _require_size(len(request.restorations), "restorations")
        versions = {each.id: each.version for each in request.restorations}
        return pb.RestoreOriginalsResponse(ids=await self._batches.restore(versions))

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


def _require_size(size: int, field: str) -> None:
    if size > MAX_ROWS:
        violation = Violation(field, f"must be at most {MAX_ROWS}")
        raise InvalidRequestError("The batch is too large.", [violation])


def _conversion_message(row: BatchRow) -> pb.StoredRow:
    if row.is_current:
        return pb.StoredRow(id=row.id, is_current=True)
    columns = pb.AssistantRow(
        name=row.name,
        owner=row.owner,
        metadata=row.metadata,
        rag_top_k_json=row.rag_top_k_json,
        rag_collections=row.rag_collections,
    )
    return pb.StoredRow(id=row.id, row=columns, version=row.version)


def _original_message(row: BatchRow) -> pb.StoredRow:
    if row.migrated_to is None:
        return pb.StoredRow(id=row.id)
    original = pb.Original(edited=row.edited)
    columns = pb.AssistantRow(name=row.name)
    return pb.StoredRow(id=row.id, row=columns, version=row.version, original=original)


def _replacement(message: pb.Replacement, field: str) -> Replacement:
    document = parse(message.metadata)
    if version_of(document) != newest():
        violation = Violation(f"{field}.metadata", "is not of the newest format")
        raise InvalidRequestError("The replacement is not valid.", [violation])
    conversion = Conversion(document, message.from_version, newest(), ())
    return Replacement(message.id, message.version, message.metadata, conversion)
