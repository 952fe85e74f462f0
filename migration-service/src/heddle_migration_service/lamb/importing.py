"""The import of a LAMB database, in batches."""

import time
from collections import defaultdict
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Protocol

from google.protobuf.message import Message
from heddle.assistant.v1 import rows_pb2
from heddle.migration.v1 import migration_pb2 as pb
from heddle_runtime.errors import to_status

from heddle_migration_service.lamb.assistants import ASSISTANTS
from heddle_migration_service.lamb.errors import explained
from heddle_migration_service.lamb.kinds import Draft, Kind
from heddle_migration_service.lamb.knowledge_bases import KNOWLEDGE_BASES
from heddle_migration_service.lamb.knowledge_registry import (
    NO_SERVER,
    LambRegistry,
    LambServer,
    lamb_registry,
)
from heddle_migration_service.lamb.knowledge_stores import KNOWLEDGE_STORES
from heddle_migration_service.lamb.left_behind import left_behind
from heddle_migration_service.lamb.organizations import (
    COLUMNS,
    TABLE,
    UNASSIGNED,
    OrganizationSlugs,
    organization_row,
    unassigned,
)
from heddle_migration_service.lamb.prices import lamb_prices
from heddle_migration_service.lamb.rubrics import RUBRICS
from heddle_migration_service.lamb.snapshot import opened
from heddle_migration_service.lamb.tables import LambTables, lamb_tables
from heddle_migration_service.lamb.usage import USAGE
from heddle_migration_service.lamb.users import USERS
from heddle_migration_service.row_batches import RowBatches, ranges

_KINDS = (USERS, ASSISTANTS, RUBRICS, KNOWLEDGE_BASES, KNOWLEDGE_STORES, USAGE)
_MAX_NAME = 200
_NEW = rows_pb2.IMPORT_OUTCOME_INSERTED
_PRESENT = rows_pb2.IMPORT_OUTCOME_PRESENT

Responses = AsyncGenerator[pb.ImportLambResponse]


class CopyKnowledge(Protocol):
    """Copies collections, and adds what stays in LAMB to a list."""

    def __call__(
        self, registry: LambRegistry, left: list[pb.LeftBehind], *, dry_run: bool
    ) -> Responses:
        """Yield the progress."""


class LambImport:
    """Imports one LAMB database. It may run any number of times, and several times at once."""

    def __init__(
        self,
        path: Path,
        prefix: str | None,
        batches: RowBatches,
        operators: LambServer = NO_SERVER,
    ) -> None:
        """Set up an import.

        Args:
            path: The LAMB database, live or a copy.
            prefix: What LAMB's tables are called before `assistants`. If None, that is found out.
            batches: Where the rows go.
            operators: The knowledge-base server of organisations that name none.
        """
        self._operators = operators
        self._path = path.absolute()
        self._prefix = prefix
        self._batches = batches

    async def run(self, *, dry_run: bool, copy: CopyKnowledge | None = None) -> Responses:
        """Import what Heddle does not have yet, as of one moment of the LAMB database.

        What a response counts is on disk, so an interrupted import loses nothing: the next run
        skips what is there, and never changes it, whatever was edited since.

        Args:
            dry_run: Count and report, write nothing.
            copy: Copies the collections of knowledge-base servers after that.

        Raises:
            LambDatabaseError: There is no LAMB database, or it cannot be read.
            UnavailableError: Heddle's own database cannot be written to at the moment.
        """
        with explained(self._path):
            async with opened(self._path) as connection:
                tables = await lamb_tables(connection, self._path, self._prefix)
                run = _Run(tables, self._batches, dry_run=dry_run)
                yield await run.organizations()
                for kind in _KINDS:
                    async with aclosing(run.rows(kind)) as responses:
                        async for response in responses:
                            yield response
                left = await left_behind(tables)
                registry = await run.registry(self._operators) if copy else None
        if copy and registry:  # may take hours, in which LAMB writes its database
            async with aclosing(copy(registry, left, dry_run=dry_run)) as responses:
                async for response in responses:
                    yield response
        if left:
            yield pb.ImportLambResponse(left_behind=left)


class _Run:
    """One run of an import."""

    def __init__(self, tables: LambTables, batches: RowBatches, *, dry_run: bool) -> None:
        self._tables = tables
        self._batches = batches
        self._dry_run = dry_run
        self._slugs = OrganizationSlugs()
        self._has_unassigned = False

    async def organizations(self) -> pb.ImportLambResponse:
        """Import the organisations."""
        async with aclosing(self._tables.batches(TABLE, COLUMNS)) as batches:
            rows = [row async for batch in batches for row in batch]
        prices = await lamb_prices(self._tables)
        messages = [organization_row(row, prices) for row in rows]
        self._slugs = OrganizationSlugs(
            {row.whole("id"): message.slug for row, message in zip(rows, messages, strict=True)}
        )
        imported: list[rows_pb2.ImportedRow] = []
        for start, end in ranges(messages):
            batch = rows_pb2.RowBatch(organizations=messages[start:end])
            imported += await self._import(batch, rows_pb2.RowBatch())
        new = sum(each.outcome == _NEW for each in imported)
        progress = pb.Progress(total=len(rows), changed=new, unchanged=len(rows) - new)
        findings = [
            pb.Finding(id=str(row.whole("id")), name=message.slug, notes=notes)
            for row, message, each in zip(rows, messages, imported, strict=True)
            if (notes := [*row.notes, *each.notes])
        ]
        return pb.ImportLambResponse(table=TABLE, progress=progress, findings=findings)

    async def registry(self, operators: LambServer) -> LambRegistry:
        """Return what LAMB's database says about collections."""
        return await lamb_registry(self._tables, self._slugs, operators)

    async def rows(self, kind: Kind) -> Responses:
        """Import the rows of one table."""
        if kind.is_recent and not await self._tables.columns(kind.source):
            return
        progress = pb.Progress(total=await self._tables.count(kind.source))
        yield pb.ImportLambResponse(table=kind.source, progress=progress)
        names: dict[str, list[Message]] = defaultdict(list)
        async with aclosing(self._tables.batches(kind.source, kind.columns)) as batches:
            async for rows in batches:
                drafts = await kind.drafts(self._tables, self._slugs, rows)
                findings = await self._import_drafts(kind, drafts, progress, names)
                yield pb.ImportLambResponse(table=kind.source, progress=progress, findings=findings)
        if kind.strays and (findings := await kind.strays(self._tables)):
            yield pb.ImportLambResponse(table=kind.source, progress=progress, findings=findings)

    async def _import_drafts(
        self,
        kind: Kind,
        drafts: Sequence[Draft],
        progress: pb.Progress,
        names: dict[str, list[Message]],
    ) -> list[pb.Finding]:
        """Import a batch of LAMB's rows and count them; return the findings.

        Args:
            kind: Their table.
            drafts: What Heddle would store of them.
            progress: Is counted up.
            names: Of a dry run, the keys of the rows before them, by their names.
        """
        await self._assign_organizations(drafts)
        sent = [draft for draft in drafts if draft.error is None]
        messages = [kind.message(**draft.values) for draft in sent]
        findings = [_refusal(draft) for draft in drafts if draft.error]
        progress.refused += len(findings)
        for start, end in ranges(messages):
            batch = kind.batch(messages[start:end])
            earlier = _earlier(kind, sent[start:end], names)
            imported = await self._import(batch, earlier)
            for draft, each in zip(sent[start:end], imported, strict=True):
                if each.outcome == _PRESENT:
                    progress.unchanged += 1
                    continue
                if each.outcome == _NEW:
                    progress.changed += 1
                    if self._dry_run:
                        name = each.renamed_to or draft.values[kind.key[0]]
                        names[name].append(kind.key_row(draft.values, name))
                else:
                    progress.refused += 1
                notes = [*draft.notes, *each.notes]
                if notes or each.HasField("error"):
                    error = each.error if each.HasField("error") else None
                    findings.append(_finding(draft, notes=notes, error=error))
        return findings

    async def _import(
        self, batch: rows_pb2.RowBatch, earlier: rows_pb2.RowBatch
    ) -> Sequence[rows_pb2.ImportedRow]:
        return await self._batches.import_rows(batch, earlier, dry_run=self._dry_run)

    async def _assign_organizations(self, drafts: Sequence[Draft]) -> None:
        missing = [draft for draft in drafts if draft.values.get("organization", "") is None]
        for draft in missing:
            draft.values["organization"] = UNASSIGNED
        if missing and not (self._has_unassigned or self._dry_run):
            organization = rows_pb2.RowBatch(organizations=[unassigned(int(time.time()))])
            await self._import(organization, rows_pb2.RowBatch())
            self._has_unassigned = True


def _earlier(
    kind: Kind, drafts: Sequence[Draft], names: dict[str, list[Message]]
) -> rows_pb2.RowBatch:
    """Return the rows before `drafts` that have one of their names, or of their new names."""
    if not names:
        return rows_pb2.RowBatch()
    plain = [draft.values[kind.key[0]] for draft in drafts]
    numbered = [f"{draft.values[kind.key[0]]}_{draft.id}" for draft in drafts]
    conflicting = [
        row for name in dict.fromkeys([*plain, *numbered]) for row in names.get(name, ())
    ]
    return kind.batch(conflicting)


def _refusal(draft: Draft) -> pb.Finding:
    error = to_status(draft.error) if draft.error else None
    return _finding(draft, notes=draft.notes, error=error)


def _finding(draft: Draft, **members: object) -> pb.Finding:
    return pb.Finding(id=str(draft.id), name=draft.name[:_MAX_NAME], **members)  # type: ignore[arg-type] # notes and error
