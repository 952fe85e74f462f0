"""`heddle.migration.v1.MigrationService`."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Protocol

from heddle.migration.v1 import migration_pb2 as pb
from heddle.migration.v1 import migration_pb2_grpc as pb_grpc
from heddle_runtime.call_metadata import caller
from heddle_runtime.errors import InvalidRequestError, NotSetUpError, Violation
from heddle_runtime.server_interceptor import Context

from heddle_migration_service.access import require_administrator
from heddle_migration_service.conversion import (
    Conversion,
    LegacyColumns,
    StoredColumns,
    convert,
    dump,
    parse,
    to_contract,
)
from heddle_migration_service.database.engine import Database
from heddle_migration_service.kept.migrating import Stored, converted
from heddle_migration_service.kept.reader import contract
from heddle_migration_service.kept.rows import Rows
from heddle_migration_service.kept.writer import no_assistant
from heddle_migration_service.sweeps.back import Back, New, Restored
from heddle_migration_service.sweeps.forth import Forth, Migrated, Old
from heddle_migration_service.sweeps.sweep import Report, Sweep

_MOST_IDS = 1000


class Importer(Protocol):
    """Copies what a LAMB database holds."""

    def run(self, *, dry_run: bool) -> AsyncGenerator[pb.ImportLambResponse]:
        """Yield after each batch how far it is."""


class MigrationServicer(pb_grpc.MigrationServiceServicer):
    """Translates between the contract and the sweeps. Everything here is for administrators."""

    def __init__(
        self, database: Database, rows: Rows, importer: Importer | None, *, enabled: bool
    ) -> None:
        self._database = database
        self._rows = rows
        self._importer = importer
        self._enabled = enabled

    async def ConvertAssistant(
        self, request: pb.ConvertAssistantRequest, context: Context
    ) -> pb.ConvertAssistantResponse:
        """Show what a migration would make of an assistant."""
        require_administrator(caller().identity)
        match request.WhichOneof("source"):
            case "id":
                row = await self._rows.get(request.id)
                if row is None:
                    raise no_assistant(request.id)
                conversion = converted(row)
                assistant = contract(Stored(row, conversion.metadata))
            case "columns":
                conversion = _converted(request.columns)
                assistant = to_contract(conversion.metadata, StoredColumns(""))
            case _:
                violation = Violation("source", "is required")
                raise InvalidRequestError("The request says nothing to convert.", [violation])
        return pb.ConvertAssistantResponse(
            metadata_json=dump(conversion.metadata),
            assistant=assistant,
            from_version=conversion.from_version,
            to_version=conversion.to_version,
            notes=conversion.notes,
        )

    async def MigrateAssistants(
        self, request: pb.MigrateAssistantsRequest, context: Context
    ) -> AsyncGenerator[pb.MigrateAssistantsResponse]:
        """Migrate every assistant that is not."""
        _require(request.ids)
        if not (self._enabled or request.dry_run):
            raise NotSetUpError(
                "Migration is switched off. Set HEDDLE_MIGRATION_MIGRATE to 1 first."
            )
        sweep = Sweep(self._database, Forth(), dry_run=request.dry_run)
        async with aclosing(_reports(sweep, request.ids)) as reports:
            async for report in reports:
                yield pb.MigrateAssistantsResponse(
                    progress=report.progress, findings=report.findings
                )

    async def RollbackAssistants(
        self, request: pb.RollbackAssistantsRequest, context: Context
    ) -> AsyncGenerator[pb.RollbackAssistantsResponse]:
        """Give every migrated assistant its document back."""
        _require(request.ids)
        back = Back(discard_edits=request.discard_edits)
        sweep = Sweep(self._database, back, dry_run=request.dry_run)
        async with aclosing(_reports(sweep, request.ids)) as reports:
            async for report in reports:
                yield pb.RollbackAssistantsResponse(
                    progress=report.progress, findings=report.findings
                )

    async def ImportLamb(
        self, request: pb.ImportLambRequest, context: Context
    ) -> AsyncGenerator[pb.ImportLambResponse]:
        """Copy what a LAMB database holds."""
        require_administrator(caller().identity)
        if self._importer is None:
            raise NotSetUpError(
                "No LAMB database is set up. Set HEDDLE_MIGRATION_LAMB_DATABASE to its path."
            )
        async with aclosing(self._importer.run(dry_run=request.dry_run)) as responses:
            async for response in responses:
                yield response


def _require(ids: Sequence[str]) -> None:
    require_administrator(caller().identity)
    if len(ids) > _MOST_IDS:
        violation = Violation("ids", f"must be at most {_MOST_IDS}")
        raise InvalidRequestError("The request names too many assistants.", [violation])


def _reports(
    sweep: Sweep[Old, Migrated] | Sweep[New, Restored], ids: Sequence[str]
) -> AsyncGenerator[Report]:
    return sweep.over(ids) if ids else sweep.over_all()


def _converted(columns: pb.Columns) -> Conversion:
    text = columns.metadata_json if columns.HasField("metadata_json") else None
    top_k = columns.rag_top_k if columns.HasField("rag_top_k") else None
    collections = columns.rag_collections if columns.HasField("rag_collections") else None
    return convert(parse(text), LegacyColumns(top_k, collections))
