"""Imports that tests run, and what they left."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import ip_network
from typing import TYPE_CHECKING, Any, cast

from assistants.serving import SECRET
from google.protobuf.json_format import MessageToDict
from heddle.assistant.v1 import following_pb2_grpc, rows_pb2_grpc, sharing_pb2_grpc
from heddle.migration.v1 import migration_pb2 as pb
from heddle_assistants.audit.log import open_audit_log
from heddle_assistants.catalog.all_assistants import Catalog
from heddle_assistants.database.encryption import Keys
from heddle_assistants.database.schema import audit_chain, audit_keys, metadata
from heddle_assistants.following.applying import Applying as AppliedChanges
from heddle_assistants.following.claims import Claims
from heddle_assistants.following.servicer import FollowingServicer
from heddle_assistants.imports.rows import RowImport
from heddle_assistants.other_services import OtherServices
from heddle_assistants.repository.batches import Batches
from heddle_assistants.repository.rows import Rows
from heddle_assistants.rows.conversion import RowConversion
from heddle_assistants.rows.servicer import RowBatchServicer
from heddle_assistants.sharing.servicer import SharingServicer
from heddle_assistants.sharing.store import SharedAssistants
from heddle_assistants.validation import Validation
from heddle_migration_service.following.applying import Applying
from heddle_migration_service.lamb import LambImport
from heddle_migration_service.lamb.assistant_shares import Sharing
from heddle_migration_service.row_batches import RowBatches
from heddle_runtime.http.egress import Egress
from heddle_runtime.identity.callers import Identity
from heddle_runtime.identity.service_credentials import ServiceCredentials
from heddle_runtime.rpc.in_process import InProcessChannel
from heddle_runtime.storage.database.engine import Database
from migration.lamb.lamb_database import Lamb
from sqlalchemy import Table, select

if TYPE_CHECKING:
    import grpc

KEYS = Keys.of([SECRET])
TABLES = (
    *("organizations", "Creator_users", "assistants", "rubrics", "kb_registry"),
    "assistant_usage_totals",
)


@dataclass
class Report:
    """What an import said."""

    counts: dict[str, tuple[int, int, int, int]] = field(default_factory=dict)
    """By table: in all, changed, unchanged, refused."""
    findings: dict[str, dict[str, pb.Finding]] = field(default_factory=dict)
    """By table and id."""

    left_behind: dict[str, tuple[int, str]] = field(default_factory=dict)
    """By table: the rows, and what they are."""

    def add(self, response: pb.RunMigrationResponse) -> None:
        if not response.table:
            left = response.left_behind
            self.left_behind = {each.table: (each.rows, each.meaning) for each in left}
            return
        progress = response.progress
        counts = (progress.total, progress.changed, progress.unchanged, progress.refused)
        self.counts[response.table] = counts
        for finding in response.findings:
            self.findings.setdefault(response.table, {})[finding.id] = finding

    def notes(self, table: str, identifier: int | str) -> str:
        return " ".join(self.findings[table][str(identifier)].notes)

    def error(self, table: str, identifier: int) -> str:
        return str(self.findings[table][str(identifier)].error.message)

    def plain(self) -> Any:
        """Return all of it in a form that can be compared."""
        found = {
            table: {name: MessageToDict(finding) for name, finding in findings.items()}
            for table, findings in self.findings.items()
        }
        return self.counts, found


async def run(
    lamb: Lamb,
    database: Database,
    *,
    dry_run: bool = False,
    prefix: str | None = None,
    allowed: str = "",
) -> Report:
    """Import and return the report."""
    report = Report()
    egress = Egress([ip_network(allowed)] if allowed else [])
    batches, _, sharing = await services(database, egress)
    importing = LambImport(lamb.path, prefix, batches, sharing)
    async for response in importing.run(dry_run=dry_run):
        report.add(response)
    return report


async def row_batches(database: Database, egress: Egress) -> RowBatches:
    """Return the way to an assistants service of this process."""
    batches, *_ = await services(database, egress)
    return batches


async def services(database: Database, egress: Egress) -> "tuple[RowBatches, Applying, Sharing]":
    """Return the ways to an assistants service of this process; the claimant is `test`."""
    within = InProcessChannel()
    server, channel = cast("grpc.aio.Server", within), cast("grpc.aio.Channel", within)
    validation = Validation(OtherServices(), ServiceCredentials("assistants"))
    audit = await open_audit_log(database, KEYS)
    importer = RowImport(database, audit, KEYS, egress, validation)
    conversion = RowConversion(Batches(database, audit, migrates=True), importer)
    servicer = RowBatchServicer(conversion, importer)
    rows_pb2_grpc.add_RowBatchServiceServicer_to_server(servicer, server)
    follower = FollowingServicer(database, Claims(database), AppliedChanges(audit, KEYS))
    following_pb2_grpc.add_FollowingServiceServicer_to_server(follower, server)
    sharer = SharingServicer(_NoFolder(), Rows(database), SharedAssistants(database, audit))
    sharing_pb2_grpc.add_SharingServiceServicer_to_server(sharer, server)
    credentials = ServiceCredentials("migration")
    batches = RowBatches(rows_pb2_grpc.RowBatchServiceStub(channel), credentials)
    stub = following_pb2_grpc.FollowingServiceStub(channel)
    sharing = Sharing(sharing_pb2_grpc.SharingServiceStub(channel))
    return batches, Applying(stub, credentials, batches, "test"), sharing


class _NoFolder(Catalog):
    """The assistants of an installation without a folder of them."""

    def __init__(self) -> None: ...

    async def refuse_folder(self, identifier: str, identity: Identity) -> None: ...


async def rows(database: Database, table: Table) -> dict[Any, dict[str, Any]]:
    """Return a table's rows by their ids."""
    async with database.reading() as connection:
        found = (await connection.execute(select(table))).mappings().all()
    return {row["id"]: dict(row) for row in found}


async def everything(database: Database) -> dict[str, Sequence[Any]]:
    """Return all rows of all tables but those that opening the audit log fills."""
    async with database.reading() as connection:
        return {
            table.name: sorted(map(tuple, await connection.execute(select(table))), key=repr)
            for table in metadata.sorted_tables
            if table not in (audit_chain, audit_keys)
        }
