"""`heddle.assistant.v1.RowBatchService`."""

from heddle.assistant.v1 import rows_pb2 as pb
from heddle.assistant.v1 import rows_pb2_grpc as pb_grpc
from heddle_runtime.errors import PermissionDeniedError
from heddle_runtime.identity.call_metadata import Context, caller
from heddle_runtime.identity.callers import SERVICE
from heddle_runtime.identity.permissions import may_administer

from heddle_assistants.field_checks import require
from heddle_assistants.imports.rows import RowImport
from heddle_assistants.repository.batches import MAX_ROWS
from heddle_assistants.rows.conversion import RowConversion


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
