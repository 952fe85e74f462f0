"""`heddle.migration.v1.MigrationService`."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

from heddle.assistant.v1 import assistant_pb2, jobs_pb2, rows_pb2
from heddle.assistant.v1.rows_pb2_grpc import RowServiceAsyncStub
from heddle.migration.v1 import migration_pb2 as pb
from heddle.migration.v1 import migration_pb2_grpc as pb_grpc
from heddle_conversion import (
    Conversion,
    LegacyColumns,
    StoredColumns,
    convert,
    convert_row,
    dump,
    parse,
    to_contract,
)
from heddle_runtime.contract.enums import enum_names
from heddle_runtime.errors import InvalidRequestError, Violation
from heddle_runtime.identity.call_metadata import Context, call_options, caller
from heddle_runtime.identity.permissions import require_administrator

from heddle_migration_service.batch_jobs.work import Work
from heddle_migration_service.jobs import JobRunner
from heddle_migration_service.records.view import columns_of_row

_MAX_IDS = 1000


@dataclass(eq=False, slots=True)
class MigrationServicer(pb_grpc.MigrationServiceServicer):
    """Starts batch jobs. Everything here is for administrators."""

    rows: RowServiceAsyncStub
    work: Work
    runner: JobRunner

    async def ConvertAssistant(
        self, request: pb.ConvertAssistantRequest, context: Context
    ) -> pb.ConvertAssistantResponse:
        """Return what a migration would make of an assistant."""
        require_administrator(caller().identity)
        match request.WhichOneof("source"):
            case "id":
                conversion, assistant, before = await self._convert_stored(request.id, context)
            case "columns":
                conversion = _convert(request.columns)
                columns = request.columns
                before = columns.metadata_json if columns.HasField("metadata_json") else None
                assistant = to_contract(conversion.metadata, StoredColumns(""))
            case _:
                violation = Violation("source", "is required")
                raise InvalidRequestError("The request names nothing to convert.", [violation])
        return pb.ConvertAssistantResponse(
            metadata_json=dump(conversion.metadata),
            assistant=assistant,
            from_version=conversion.from_version,
            to_version=conversion.to_version,
            notes=conversion.notes,
            from_metadata_json=before,
        )

    async def RunMigration(
        self, request: pb.RunMigrationRequest, context: Context
    ) -> AsyncGenerator[pb.RunMigrationResponse]:
        """Migrate or restore assistants, or copy the contents of a LAMB database."""
        require_administrator(caller().identity)
        check_request(request)
        async with aclosing(self.work.run(request)) as responses:
            async for response in responses:
                yield response

    async def RunJobs(self, request: pb.RunJobsRequest, context: Context) -> pb.RunJobsResponse:
        """Look for a job now."""
        require_administrator(caller().identity)
        self.runner.wake()
        return pb.RunJobsResponse()

    async def _convert_stored(
        self, identifier: str, context: Context
    ) -> tuple[Conversion, assistant_pb2.Assistant, str | None]:
        request = rows_pb2.GetRowRequest(id=identifier, as_stored=True)
        row = (await self.rows.GetRow(request, **call_options(context))).row
        number = int(row.id) if row.id.isdecimal() else 0
        conversion = convert_row(number, row.metadata, columns_of_row(row))
        before = row.metadata if row.HasField("metadata") else None
        return conversion, to_contract(conversion.metadata, StoredColumns.of(row)), before


def _convert(columns: pb.Columns) -> Conversion:
    text = columns.metadata_json if columns.HasField("metadata_json") else None
    top_k = columns.rag_top_k if columns.HasField("rag_top_k") else None
    collections = columns.rag_collections if columns.HasField("rag_collections") else None
    return convert(parse(text), LegacyColumns(top_k, collections))


def check_request(request: pb.RunMigrationRequest) -> None:
    """Refuse a request of no kind, or with too many ids.

    Raises:
        InvalidRequestError: Names the field.
    """
    kinds = enum_names(jobs_pb2.JobKind.DESCRIPTOR)
    violations = []
    if request.kind not in kinds:
        violations.append(Violation("kind", f"must be {', '.join(kinds.values())}"))
    if len(request.ids) > _MAX_IDS:
        violations.append(Violation("ids", f"must be at most {_MAX_IDS}"))
    if violations:
        raise InvalidRequestError("The request is not valid.", violations)
