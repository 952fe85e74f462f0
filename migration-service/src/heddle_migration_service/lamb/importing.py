"""The import of a LAMB database, in batches."""

from collections import defaultdict
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Protocol

from google.protobuf.message import Message
from heddle.assistant.v1 import rows_pb2
from heddle.migration.v1 import migration_pb2 as pb
from heddle_runtime.errors import NotFoundError, to_status

from heddle_migration_service.lamb.assistant_shares import Sharing, shares
from heddle_migration_service.lamb.assistants import ASSISTANTS
from heddle_migration_service.lamb.contents import CONTENT_COLUMNS
from heddle_migration_service.lamb.errors import explained
from heddle_migration_service.lamb.kinds import Draft, Kind, drafts_of
from heddle_migration_service.lamb.knowledge_bases import KNOWLEDGE_BASES
from heddle_migration_service.lamb.knowledge_registry import (
    NO_SERVER,
    LambRegistry,
    LambServer,
    lamb_registry,
)
from heddle_migration_service.lamb.knowledge_stores import KNOWLEDGE_STORES
from heddle_migration_service.lamb.left_behind import left_behind
from heddle_migration_service.lamb.organization_slugs import OrganizationSlugs, organization_slugs
from heddle_migration_service.lamb.organizations import ORGANIZATIONS, make_unassigned
from heddle_migration_service.lamb.rubrics import RUBRICS
from heddle_migration_service.lamb.snapshot import opened
from heddle_migration_service.lamb.tables import LambTables, lamb_tables
from heddle_migration_service.lamb.usage import USAGE
from heddle_migration_service.lamb.users import USERS
from heddle_migration_service.row_batches import RowBatches, ranges

_KINDS = (ORGANIZATIONS, USERS, ASSISTANTS, RUBRICS, KNOWLEDGE_BASES, KNOWLEDGE_STORES, USAGE)
_MAX_NAME = 200
_NEW = rows_pb2.IMPORT_OUTCOME_INSERTED
_PRESENT = rows_pb2.IMPORT_OUTCOME_PRESENT

Responses = AsyncGenerator[pb.RunMigrationResponse]


class CopyKnowledge(Protocol):
    """Copies collections, and adds what stays in LAMB to a list."""

    def __call__(
        self, registry: LambRegistry, left: list[pb.LeftBehind], *, dry_run: bool
    ) -> Responses:
        """Yield the progress."""


class MoreRows(Protocol):
    """Imports some tables, one row after another."""

    def run(self, tables: LambTables, slugs: OrganizationSlugs, *, dry_run: bool) -> Responses:
        """Yield the progress."""


class LambImport:
    """Imports one LAMB database. It may run any number of times, and several times at once."""

    def __init__(
        self,
        path: Path,
        prefix: str | None,
        batches: RowBatches,
        sharing: Sharing,
        operators: LambServer = NO_SERVER,
        more: Sequence[MoreRows] = (),
        library: LambServer = NO_SERVER,
    ) -> None:
        """Set up an import.

        Args:
            path: The LAMB database, live or a copy.
            prefix: What LAMB's tables are called before `assistants`. If None, that is found out.
            batches: Where the rows go.
            sharing: Shares the assistants that are new.
            operators: The knowledge-base server of organisations that name none.
            more: Import other tables after that.
            library: The library server of organisations that name none.
        """
        self._library = library
        self._more = more
        self._operators = operators
        self._path = path.absolute()
        self._prefix = prefix
        self._batches = batches
        self._sharing = sharing

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
                slugs = await organization_slugs(tables)
                run = _Run(tables, slugs, self._batches, self._sharing, dry_run=dry_run)
                for kind in _KINDS:
                    async with aclosing(run.rows(kind)) as responses:
                        async for response in responses:
                            yield response
                for more in self._more:
                    async with aclosing(more.run(tables, slugs, dry_run=dry_run)) as responses:
                        async for response in responses:
                            yield response
                columns = {it.source: it.columns for it in _KINDS} | {**CONTENT_COLUMNS}
                left, registry = await left_behind(tables, columns), None
                if copy:
                    servers = self._operators, self._library
                    registry = await lamb_registry(tables, slugs, *servers)
        if copy and registry:  # may take hours, in which LAMB writes its database
            async with aclosing(copy(registry, left, dry_run=dry_run)) as responses:
                async for response in responses:
                    yield response
        if left:
            yield pb.RunMigrationResponse(left_behind=left)


@dataclass(eq=False, slots=True)
class _Run:
    """One run of an import."""

    tables: LambTables
    slugs: OrganizationSlugs
    batches: RowBatches
    sharing: Sharing
    _: KW_ONLY
    dry_run: bool
    refused: set[str] = field(default_factory=set)
    """The slugs of the organisations that are refused."""

    async def rows(self, kind: Kind) -> Responses:
        """Import the rows of one table."""
        if kind.is_recent and not await self.tables.columns(kind.source):
            return
        progress = pb.Progress(total=await self.tables.count(kind.source))
        yield pb.RunMigrationResponse(table=kind.source, progress=progress)
        names: dict[str, list[Message]] = defaultdict(list)
        async with aclosing(self.tables.batches(kind.source, kind.columns)) as batches:
            async for rows in batches:
                drafts = await drafts_of(kind, self.tables, self.slugs, rows)
                findings = await self._import_drafts(kind, drafts, progress, names)
                yield pb.RunMigrationResponse(
                    table=kind.source, progress=progress, findings=findings
                )
        if kind.strays and (findings := await kind.strays(self.tables)):
            yield pb.RunMigrationResponse(table=kind.source, progress=progress, findings=findings)

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
        for draft in drafts if self.dry_run else ():  # as the service refuses them otherwise
            if draft.error is None and draft.values.get("organization") in self.refused:
                draft.error = NotFoundError("Its organisation was not imported.")
        sent = [draft for draft in drafts if draft.error is None]
        messages = [draft.message for draft in sent]
        if not self.dry_run:
            await make_unassigned(self.batches, messages)
        findings = [_refusal(draft) for draft in drafts if draft.error]
        progress.refused += len(findings)
        self.refused.update(draft.values.get("slug", "") for draft in drafts if draft.error)
        for start, end in ranges(messages):
            earlier = _earlier(kind, sent[start:end], names)
            imported = await self.batches.import_rows(
                kind.field, messages[start:end], earlier, dry_run=self.dry_run
            )
            to_do = await self._share(kind, sent[start:end], imported)
            for draft, each in zip(sent[start:end], imported, strict=True):
                notes = [*draft.notes, *each.notes, *to_do.get(draft.id, ())]
                if each.outcome == _PRESENT:
                    progress.unchanged += 1
                    notes = notes[len(draft.notes) :]
                elif each.outcome == _NEW:
                    progress.changed += 1
                    if self.dry_run:
                        name = each.renamed_to or draft.values[kind.key[0]]
                        names[name].append(kind.key_row(draft.values, name))
                else:
                    self.refused.add(draft.values.get("slug", ""))
                    progress.refused += 1
                if notes or each.HasField("error"):
                    error = each.error if each.HasField("error") else None
                    findings.append(_finding(draft, notes=notes, error=error))
        return findings

    async def _share(
        self, kind: Kind, drafts: Sequence[Draft], imported: Sequence[rows_pb2.ImportedRow]
    ) -> dict[int, list[str]]:
        """Share assistants as LAMB does; return what a person has to do, by their ids."""
        if kind is not ASSISTANTS:
            return {}
        outcomes = {it.id: each.outcome for it, each in zip(drafts, imported, strict=True)}
        shared = await shares(self.tables, list(outcomes))
        to_do: dict[int, list[str]] = {}
        for draft in drafts:
            is_new = outcomes[draft.id] == _NEW
            is_here = outcomes[draft.id] == _PRESENT or (is_new and not self.dry_run)
            if (emails := shared.get(draft.id)) and is_here and draft.values["deleted_at"] is None:
                to_do[draft.id] = await self.sharing.share(draft, emails, is_new=is_new)
        return to_do


def _earlier(kind: Kind, drafts: Sequence[Draft], names: dict[str, list[Message]]) -> list[Message]:
    """Return the rows before `drafts` that have one of their names, or of their new names."""
    if not names:
        return []
    plain = [draft.values[kind.key[0]] for draft in drafts]
    numbered = [f"{draft.values[kind.key[0]]}_{draft.id}" for draft in drafts]
    return [row for name in dict.fromkeys([*plain, *numbered]) for row in names.get(name, ())]


def _refusal(draft: Draft) -> pb.Finding:
    error = to_status(draft.error) if draft.error else None
    return _finding(draft, notes=draft.notes, error=error)


def _finding(draft: Draft, **members: object) -> pb.Finding:
    return pb.Finding(id=str(draft.id), name=draft.name[:_MAX_NAME], **members)  # type: ignore[arg-type] # notes and error
