"""Imports that tests run, and what they left."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import ip_network
from typing import Any

from google.protobuf.json_format import MessageToDict
from heddle.migration.v1 import migration_pb2 as pb
from heddle_assistants.database.engine import Database
from heddle_assistants.database.schema import metadata
from heddle_migration_service.lamb import LambImport
from heddle_runtime.egress import Egress
from migration.lamb.lamb_database import Lamb
from sqlalchemy import Table, select

TABLES = ("organizations", "Creator_users", "assistants", "rubrics", "kb_registry")


@dataclass
class Report:
    """What an import said."""

    counts: dict[str, tuple[int, int, int, int]] = field(default_factory=dict)
    """By table: in all, changed, unchanged, refused."""
    findings: dict[str, dict[str, pb.Finding]] = field(default_factory=dict)
    """By table and id."""

    def notes(self, table: str, identifier: int) -> str:
        return " ".join(self.findings[table][str(identifier)].notes)

    def error(self, table: str, identifier: int) -> str:
        return str(self.findings[table][str(identifier)].error.message)

    def plain(self) -> Any:
        """Return all of it in a form that can be compared."""
        found = {
            table: [MessageToDict(finding) for finding in findings.values()]
            for table, findings in self.findings.items()
        }
        return self.counts, found


def seal(slug: str, config: dict[str, Any]) -> dict[str, Any]:
    """Hide what a test calls a secret, so that its place can be seen."""

    def hidden(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                name: f"sealed for {slug}" if name == "api_key" else hidden(inner)
                for name, inner in value.items()
            }
        return value

    return {name: hidden(value) for name, value in config.items()}


async def run(
    lamb: Lamb,
    database: Database,
    *,
    dry_run: bool = False,
    prefix: str | None = None,
    allowed: str = "",
) -> Report:
    """Import and return what was said."""
    report = Report()
    egress = Egress([ip_network(allowed)] if allowed else [])
    async for response in LambImport(lamb.path, prefix, database, seal, egress).run(
        dry_run=dry_run
    ):
        told = response.progress
        report.counts[response.table] = (told.total, told.changed, told.unchanged, told.refused)
        for finding in response.findings:
            report.findings.setdefault(response.table, {})[finding.id] = finding
    return report


async def rows(database: Database, table: Table) -> dict[Any, dict[str, Any]]:
    """Return a table's rows by their ids."""
    async with database.reading() as connection:
        found = (await connection.execute(select(table))).mappings().all()
    return {row["id"]: dict(row) for row in found}


async def everything(database: Database) -> dict[str, Sequence[Any]]:
    """Return all rows of all tables."""
    async with database.reading() as connection:
        return {
            table.name: sorted(map(tuple, await connection.execute(select(table))), key=repr)
            for table in metadata.sorted_tables
        }
