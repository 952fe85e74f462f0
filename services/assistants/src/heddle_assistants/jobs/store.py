"""The tables of jobs and their findings."""

import json
import time
from collections.abc import Sequence
from typing import Any

from google.protobuf.json_format import MessageToDict, ParseDict
from heddle.assistant.v1 import jobs_pb2 as pb
from heddle_conversion.identifiers import row_id, timestamp
from heddle_runtime.contract.audit import Change
from heddle_runtime.contract.enums import enum_names
from heddle_runtime.errors import (
    AlreadyExistsError,
    ConflictError,
    NotFoundError,
)
from heddle_runtime.storage.database.claims import CLAIM_SECONDS, seconds_now
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import ColumnElement, Row, and_, delete, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.audit.log import AuditLog
from heddle_assistants.database.schema import job_findings, jobs
from heddle_assistants.field_checks import require

MAX_FINISHED = 100
_FINISHED = ("stopped", "done", "failed")
_KINDS, _STATES = enum_names(pb.JobKind.DESCRIPTOR), enum_names(pb.JobState.DESCRIPTOR)


class Jobs:
    """Stores jobs. Each change of a job is a transaction that locks its row."""

    def __init__(self, database: Database, audit: AuditLog) -> None:
        self._database = database
        self._audit = audit

    async def start(self, request: pb.StartJobRequest, author: str) -> pb.Job:
        """Store a new job, and delete the oldest finished ones.

        Raises:
            AlreadyExistsError: Another job is not finished.
        """
        kind = _KINDS[request.kind]
        values = {"kind": kind, "dry_run": request.dry_run, "discard_edits": request.discard_edits}
        async with self._audit.writing() as (connection, changes):
            await _refuse_second(connection)
            new = insert(jobs).values(
                **values, state="queued", author=author, created_at=int(time.time())
            )
            row = (await connection.execute(new.returning(*jobs.c))).one()
            await _delete_oldest(connection)
            changes.append(Change("migration.start", str(row.id), "", after=values))
        return _job(row)

    async def get(self, identifier: str) -> pb.Job:
        """Return a job.

        Raises:
            NotFoundError: There is none.
        """
        async with self._database.reading() as connection:
            row = (await connection.execute(select(jobs).where(_is(identifier)))).one_or_none()
        if row is None:
            raise _no_job(identifier)
        return _job(row)

    async def listed(self, before: int, limit: int) -> list[pb.Job]:
        """Return jobs, the newest first, before the one with a number if that is not 0."""
        query = select(jobs).order_by(jobs.c.id.desc()).limit(limit)
        if before:
            query = query.where(jobs.c.id < before)
        async with self._database.reading() as connection:
            return [_job(row) for row in await connection.execute(query)]

    async def findings(
        self, identifier: str, where: ColumnElement[bool], after: int, limit: int
    ) -> list[pb.JobFinding]:
        """Return findings of a job in the order of their numbers, after one."""
        await self.get(identifier)
        chosen = and_(job_findings.c.job_id == int(identifier), job_findings.c.number > after)
        query = select(job_findings).where(chosen, where)
        async with self._database.reading() as connection:
            rows = await connection.execute(query.order_by(job_findings.c.number).limit(limit))
            return [_finding(row) for row in rows]

    async def stop(self, identifier: str) -> pb.Job:
        """Request the end of a job. A waiting job ends at once."""
        async with self._audit.writing() as (connection, changes):
            row = await _held(connection, identifier)
            if row.state in (*_FINISHED, "stopping"):
                return _job(row)
            waits = row.state == "queued"
            ended = int(time.time()) if waits else None
            state = "stopped" if waits else "stopping"
            changes.append(Change("migration.stop", identifier, "", after={"state": state}))
            return _job(await _write(connection, row, state=state, ended_at=ended))

    async def resume(self, identifier: str) -> pb.Job:
        """Let a stopped or failed job wait again.

        Raises:
            AlreadyExistsError: Another job is not finished.
            InvalidRequestError: It is done.
        """
        async with self._audit.writing() as (connection, changes):
            row = await _held(connection, identifier)
            require(row.state != "done", "id", "is a job that is done; start another one")
            if row.state not in _FINISHED:
                return _job(row)
            await _refuse_second(connection)
            changes.append(Change("migration.continue", identifier, "", after={"state": "queued"}))
            count = row.interruptions + 1
            changed = {"ended_at": None, "error": "", "interruptions": count}
            return _job(await _write(connection, row, state="queued", **changed))

    async def claim(self, claimant: str) -> pb.Job | None:
        """Return the job that waits or whose claim has ended; None if there is none."""
        async with self._database.reading() as connection:  # mostly there is none
            ended = jobs.c.claimed_until < await seconds_now(connection)
            lost = and_(jobs.c.state.in_(("running", "stopping")), ended)
            free = select(jobs.c.id).where(or_(jobs.c.state == "queued", lost)).limit(1)
            number = await connection.scalar(free)
        if number is None:
            return None
        async with self._database.writing() as connection:
            row = await _held(connection, str(number))
            now = await seconds_now(connection)
            if row.state != "queued" and not (row.claimed_until or 0) < now:
                return None  # another service was faster
            if row.state in _FINISHED:
                return None
            state = "running" if row.state == "queued" else row.state
            count = row.interruptions + (row.state != "queued")
            claim = {"claimant": claimant, "claimed_until": now + CLAIM_SECONDS}
            return _job(await _write(connection, row, state=state, interruptions=count, **claim))

    async def report(self, request: pb.ReportJobRequest) -> bool:
        """Store what a service reports, and return whether it shall stop.

        Raises:
            ConflictError: Another service has claimed the job.
        """
        async with self._database.writing() as connection:
            row = await _held(connection, request.id)
            if row.claimant != request.claimant or row.state not in ("running", "stopping"):
                raise ConflictError("Another service has claimed the job.")
            until = await seconds_now(connection) + CLAIM_SECONDS
            values: dict[str, Any] = {"claimed_until": until}
            if request.tables:
                values["tables"] = json.dumps([MessageToDict(each) for each in request.tables])
            if request.findings:
                values |= await _add_findings(connection, row, request.findings)
            if request.state:
                values |= _ending(row, request)
            # A renewal alone changes nothing that readers see.
            revision = row.revision if len(values) == 1 else row.revision + 1
            await _write(connection, row, **{**values, "revision": revision})
        return bool(row.state == "stopping")


def _ending(row: Row[Any], request: pb.ReportJobRequest) -> dict[str, Any]:
    state = _STATES[request.state]
    if state == "queued" and row.state == "stopping":
        state = "stopped"
    if state == "queued":
        return {"state": state, "claimant": "", "interruptions": row.interruptions + 1}
    return {"state": state, "claimant": "", "ended_at": int(time.time()), "error": request.error}


async def _add_findings(
    connection: AsyncConnection, row: Row[Any], findings: Sequence[pb.JobFinding]
) -> dict[str, Any]:
    """Store findings in place of earlier ones about the same rows; return the counts."""
    number, count = row.last_finding, row.finding_count
    for each in findings:
        same = and_(
            job_findings.c.job_id == row.id,
            job_findings.c.source == each.table,
            job_findings.c.row_id == each.row_id,
        )
        count -= (await connection.execute(delete(job_findings).where(same))).rowcount
        number, count = number + 1, count + 1
        await connection.execute(
            insert(job_findings).values(
                job_id=row.id,
                number=number,
                source=each.table,
                row_id=each.row_id,
                row_name=_stored(each.row_name),
                notes=_stored("\n".join(note.replace("\n", " ") for note in each.notes)),
                refusal=_stored(each.refusal),
            )
        )
    return {"last_finding": number, "finding_count": count}


def _stored(text: str) -> str:
    return text.replace("\0", "\ufffd")  # which PostgreSQL does not store


async def _held(connection: AsyncConnection, identifier: str) -> Row[Any]:
    query = select(jobs).where(_is(identifier)).with_for_update()
    row = (await connection.execute(query)).one_or_none()
    if row is None:
        raise _no_job(identifier)
    return row


async def _write(connection: AsyncConnection, row: Row[Any], **values: object) -> Row[Any]:
    changed = {"revision": row.revision + 1, **values}
    query = update(jobs).where(jobs.c.id == row.id).values(changed).returning(*jobs.c)
    return (await connection.execute(query)).one()


async def _refuse_second(connection: AsyncConnection) -> None:
    # The lock of all rows orders starts; an empty table has none, and then two may begin.
    states = await connection.execute(select(jobs.c.id, jobs.c.state).with_for_update())
    for row in states:
        if row.state not in _FINISHED:
            raise AlreadyExistsError(f"The job {row.id} is not finished. Stop it, or wait for it.")


async def _delete_oldest(connection: AsyncConnection) -> None:
    finished = select(jobs.c.id).where(jobs.c.state.in_(_FINISHED)).order_by(jobs.c.id.desc())
    old = [row.id for row in await connection.execute(finished.offset(MAX_FINISHED))]
    await connection.execute(delete(job_findings).where(job_findings.c.job_id.in_(old)))
    await connection.execute(delete(jobs).where(jobs.c.id.in_(old)))


def _is(identifier: str) -> ColumnElement[bool]:
    return jobs.c.id == (row_id(identifier) or 0)


def _no_job(identifier: str) -> NotFoundError:
    return NotFoundError(f"No job has the id {identifier[:64]!r}.")


def _job(row: Row[Any]) -> pb.Job:
    tables = json.loads(row.tables) if row.tables else []
    return pb.Job(
        id=str(row.id),
        kind=pb.JobKind.Value(f"JOB_KIND_{row.kind.upper()}"),
        dry_run=row.dry_run,
        discard_edits=row.discard_edits,
        state=pb.JobState.Value(f"JOB_STATE_{row.state.upper()}"),
        author=row.author,
        create_time=timestamp(row.created_at),
        end_time=timestamp(row.ended_at),
        interruptions=row.interruptions,
        tables=[ParseDict(each, pb.JobTable()) for each in tables],
        finding_count=row.finding_count,
        error=row.error,
        etag=f"{row.id}-{row.revision}",
    )


def _finding(row: Row[Any]) -> pb.JobFinding:
    return pb.JobFinding(
        number=row.number,
        table=row.source,
        row_id=row.row_id,
        row_name=row.row_name,
        notes=row.notes.split("\n") if row.notes else [],
        refusal=row.refusal,
    )
