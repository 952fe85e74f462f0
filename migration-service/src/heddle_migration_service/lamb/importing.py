"""The import of a LAMB database, in batches."""

import time
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from pathlib import Path

from heddle.migration.v1 import migration_pb2 as pb
from heddle_runtime.egress import Egress
from heddle_runtime.errors import to_status

from heddle_migration_service.database.engine import Database
from heddle_migration_service.lamb import fates, organizations
from heddle_migration_service.lamb.assistants import ASSISTANTS
from heddle_migration_service.lamb.errors import explained
from heddle_migration_service.lamb.fates import Fates
from heddle_migration_service.lamb.kinds import Draft, Kind
from heddle_migration_service.lamb.knowledge_bases import KNOWLEDGE_BASES
from heddle_migration_service.lamb.opening import opened
from heddle_migration_service.lamb.organizations import OrganizationIds, Seal
from heddle_migration_service.lamb.rubrics import RUBRICS
from heddle_migration_service.lamb.tables import LambTables, lamb_tables
from heddle_migration_service.lamb.users import USERS

_KINDS = (USERS, ASSISTANTS, RUBRICS, KNOWLEDGE_BASES)
_LONGEST_NAME = 200
_NOWHERE = 0  # an organisation's id that no organisation has

Responses = AsyncGenerator[pb.ImportLambResponse]


class LambImport:
    """Imports one LAMB database. It may run any number of times, and several times at once."""

    def __init__(
        self, path: Path, prefix: str | None, database: Database, seal: Seal, egress: Egress
    ) -> None:
        """Set up an import.

        Args:
            path: The LAMB database, live or a copy.
            prefix: What LAMB's tables are called before `assistants`. If None, that is found out.
            database: Heddle's.
            seal: Encrypts the secrets in an organisation's settings.
            egress: Where organisations' servers may be.
        """
        self._path = path.absolute()
        self._prefix = prefix
        self._database = database
        self._seal = seal
        self._egress = egress

    async def run(self, *, dry_run: bool) -> Responses:
        """Import what is not here yet, as of one moment of the LAMB database.

        Each response is on disk, so whoever stops in between loses nothing: the next run skips
        what is here, and never changes it, whatever was edited since.

        Args:
            dry_run: Count and report, write nothing.

        Raises:
            LambDatabaseError: There is no LAMB database, or it cannot be read.
            UnavailableError: Heddle's own database cannot be written to at the moment.
        """
        with explained(self._path):
            async with opened(self._path) as connection:
                tables = await lamb_tables(connection, self._path, self._prefix)
                response, ids = await self._organizations(tables, dry_run=dry_run)
                yield response
                for kind in _KINDS:
                    async with aclosing(self._rows(tables, kind, ids, dry_run=dry_run)) as rows:
                        async for response in rows:
                            yield response

    async def _organizations(
        self, tables: LambTables, *, dry_run: bool
    ) -> tuple[pb.ImportLambResponse, OrganizationIds]:
        name, columns = organizations.TABLE, organizations.COLUMNS
        async with aclosing(tables.batches(name, columns)) as batches:
            rows = [row async for batch in batches for row in batch]
        drafts = [organizations.draft(row, self._seal, self._egress) for row in rows]
        database = self._database
        async with database.reading() if dry_run else database.writing() as connection:
            ids = await organizations.place(connection, drafts, dry_run=dry_run)
        new = sum(draft.new for draft in drafts)
        progress = pb.Progress(total=len(drafts), changed=new, unchanged=len(drafts) - new)
        found = [
            pb.Finding(id=str(one.lamb_id), name=one.values["slug"], notes=one.notes)
            for one in drafts
            if one.notes
        ]
        return pb.ImportLambResponse(table=name, progress=progress, findings=found), ids

    async def _rows(
        self, tables: LambTables, kind: Kind, ids: OrganizationIds, *, dry_run: bool
    ) -> Responses:
        progress = pb.Progress(total=await tables.count(kind.source))
        met: set[int] = set()
        yield pb.ImportLambResponse(table=kind.source, progress=progress)
        async with aclosing(tables.batches(kind.source, kind.columns)) as batches:
            async for rows in batches:
                drafts = await kind.drafts(tables, ids, rows)
                done = await (self._dry(kind, drafts, met) if dry_run else self._kept(kind, drafts))
                progress.changed += len(done.new)
                progress.unchanged += len(done.known)
                progress.refused += len(done.refused)
                yield pb.ImportLambResponse(
                    table=kind.source, progress=progress, findings=_findings(done)
                )
        if kind.strays and (findings := await kind.strays(tables)):
            yield pb.ImportLambResponse(table=kind.source, progress=progress, findings=findings)

    async def _kept(self, kind: Kind, drafts: Sequence[Draft]) -> Fates:
        async with self._database.writing() as connection:
            if any(draft.values["organization_id"] is None for draft in drafts):
                _assign(drafts, await organizations.unassigned(connection, int(time.time())))
            return await fates.keep(connection, kind, drafts)

    async def _dry(self, kind: Kind, drafts: Sequence[Draft], met: set[int]) -> Fates:
        async with self._database.reading() as connection:
            _assign(drafts, await organizations.find_unassigned(connection) or _NOWHERE)
            there = await fates.present(connection, kind, drafts)
        met |= there.keys
        there.keys = met
        return fates.decide(kind, drafts, there)


def _assign(drafts: Iterable[Draft], organization: int) -> None:
    for draft in drafts:
        if draft.values["organization_id"] is None:
            draft.values["organization_id"] = organization


def _findings(done: Fates) -> list[pb.Finding]:
    return [
        pb.Finding(
            id=str(draft.id),
            name=draft.name[:_LONGEST_NAME],
            notes=draft.notes,
            error=to_status(draft.error) if draft.error else None,
        )
        for draft in (*done.new, *done.refused)
        if draft.notes or draft.error
    ]
