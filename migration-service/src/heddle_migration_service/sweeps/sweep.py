"""Going over all assistants in batches, each of them one transaction."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from heddle.migration.v1 import migration_pb2 as pb
from heddle_runtime.errors import HeddleError, NotFoundError, to_status
from sqlalchemy import Select, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_migration_service.database.engine import Database
from heddle_migration_service.database.schema import assistants
from heddle_migration_service.kept.reader import changing
from heddle_migration_service.kept.row import row_id

_BATCH = 500
_ROOM = 8_000_000  # characters of metadata in one batch
_TRIES = 10


class Subject(Protocol):
    """What a direction reads of an assistant."""

    @property
    def id(self) -> int:
        """The number."""

    @property
    def name(self) -> str:
        """The name."""

    @property
    def metadata(self) -> str | None:
        """The document, as it is kept."""

    @property
    def revision(self) -> int:
        """Changes whenever the row does."""


SubjectT = TypeVar("SubjectT", bound=Subject)


class Change(Protocol):
    """What shall become of an assistant."""

    @property
    def subject(self) -> Subject:
        """What was read of it."""

    @property
    def notes(self) -> Sequence[str]:
        """What a person should look at."""


ChangeT = TypeVar("ChangeT", bound=Change)


class Direction(Protocol[SubjectT, ChangeT]):
    """Forth, or back."""

    def query(self) -> "Select[*tuple[Any, ...]]":
        """Return the query for all subjects."""

    def subject(self, values: Sequence[Any]) -> SubjectT:
        """Return what the query returned for one."""

    def change(self, subject: SubjectT) -> ChangeT | None:
        """Return what shall become of an assistant, None if it stays. Runs on another thread.

        Raises:
            HeddleError: It cannot be changed.
        """

    async def write(self, connection: AsyncConnection, changes: Sequence[ChangeT]) -> None:
        """Write changes of rows that nobody else can change meanwhile."""

    def written(self, changes: Sequence[ChangeT]) -> None:
        """Tell that changes are on disk. Runs on another thread."""


@dataclass(slots=True)
class Report:
    """What a sweep did so far, and what it found since the last report."""

    progress: pb.Progress
    findings: list[pb.Finding] = field(default_factory=list)

    def refuse(self, identifier: str, name: str, error: HeddleError) -> None:
        """Count an assistant that cannot be changed."""
        self.progress.refused += 1
        self.findings.append(pb.Finding(id=identifier, name=name, error=to_status(error)))


class Sweep(Generic[SubjectT, ChangeT]):
    """One run in a direction."""

    def __init__(
        self, database: Database, direction: Direction[SubjectT, ChangeT], *, dry_run: bool
    ) -> None:
        self._database = database
        self._direction = direction
        self._dry_run = dry_run

    async def over_all(self) -> AsyncGenerator[Report]:
        """Go over all assistants in the order of their ids; yield after each batch on disk."""
        async with self._database.reading() as connection:
            total = await connection.scalar(select(func.count()).select_from(assistants))
        report = Report(pb.Progress(total=total or 0))
        last = 0
        while ids := await self._next(last):
            last = ids[-1]
            await self._settle(ids, report)
            yield report
            report = Report(report.progress)
        if not last:  # whoever asked is told, even if there is nothing
            yield report

    async def over(self, identifiers: Sequence[str]) -> AsyncGenerator[Report]:
        """Go over some assistants, likewise."""
        wanted = dict.fromkeys(identifiers)
        report = Report(pb.Progress(total=len(wanted)))
        numbers = sorted(number for each in wanted if (number := row_id(each)) is not None)
        known: set[str] = set()
        for start in range(0, len(numbers), _BATCH):
            known |= await self._settle(numbers[start : start + _BATCH], report)
        for each in wanted.keys() - known:
            report.refuse(each, "", NotFoundError(f"No assistant has the id {each[:200]!r}."))
        yield report

    async def _next(self, last: int) -> list[int]:
        """Return the ids of the next batch, fewer if their documents are large."""
        size = func.coalesce(func.length(assistants.c.metadata), 0)
        query = select(assistants.c.id, size).where(assistants.c.id > last)
        async with self._database.reading() as connection:
            found = await connection.execute(query.order_by(assistants.c.id).limit(_BATCH))
            ids: list[int] = []
            room = _ROOM
            for number, length in found:
                room -= length
                if ids and room < 0:
                    break
                ids.append(number)
        return ids

    async def _settle(self, ids: Sequence[int], report: Report) -> set[str]:
        """Change a batch, rows that others change meanwhile too; return the ids that exist."""
        known: set[str] = set()
        left = ids
        for _ in range(_TRIES):
            subjects = await self._read(left)
            known |= {str(subject.id) for subject in subjects}
            changes = await asyncio.to_thread(self._decide, subjects, report)
            written = changes if self._dry_run else await self._write(changes)
            _count(written, report)
            done = {change.subject.id for change in written}
            left = [change.subject.id for change in changes if change.subject.id not in done]
            if not left:
                return known
        for number in left:
            report.refuse(str(number), "", changing(str(number)))
        return known

    async def _read(self, ids: Sequence[int]) -> list[SubjectT]:
        query = self._direction.query().where(assistants.c.id.in_(ids)).order_by(assistants.c.id)
        async with self._database.reading() as connection:
            return [self._direction.subject(each) for each in await connection.execute(query)]

    def _decide(self, subjects: Sequence[SubjectT], report: Report) -> list[ChangeT]:
        changes: list[ChangeT] = []
        for subject in subjects:
            try:
                change = self._direction.change(subject)
            except HeddleError as error:
                report.refuse(str(subject.id), subject.name, error)
                continue
            if change is None:
                report.progress.unchanged += 1
            else:
                changes.append(change)
        return changes

    async def _write(self, changes: list[ChangeT]) -> list[ChangeT]:
        """Write the changes of rows that are still as they were read; return those."""
        if not changes:
            return []
        ids = [change.subject.id for change in changes]
        query = select(assistants.c.id, assistants.c.revision, assistants.c.metadata)
        query = query.where(assistants.c.id.in_(ids)).order_by(assistants.c.id).with_for_update()
        async with self._database.writing() as connection:
            found = {row[0]: tuple(row[1:]) for row in await connection.execute(query)}
            same = [
                change
                for change in changes
                if found.get(change.subject.id)
                == (change.subject.revision, change.subject.metadata)
            ]
            if same:
                await self._direction.write(connection, same)
        await asyncio.to_thread(self._direction.written, same)
        return same


def _count(changes: Sequence[Change], report: Report) -> None:
    report.progress.changed += len(changes)
    for change in changes:
        if change.notes:
            subject = change.subject
            found = pb.Finding(id=str(subject.id), name=subject.name, notes=change.notes)
            report.findings.append(found)
