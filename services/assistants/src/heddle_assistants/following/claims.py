"""Stores which process follows the other installation, and what it reported."""

from typing import Any

from heddle.assistant.v1 import following_pb2 as pb
from heddle_conversion.identifiers import timestamp
from heddle_runtime.errors import ConflictError
from heddle_runtime.storage.database.claims import CLAIM_SECONDS, seconds_now
from heddle_runtime.storage.database.engine import Database
from heddle_runtime.storage.database.identities import continue_after
from heddle_runtime.storage.database.inserting import insertion
from sqlalchemy import Row, case, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.database.schema import (
    assistants,
    followed_rows,
    following,
    knowledge_bases,
    organizations,
    rubrics,
    users,
)
from heddle_assistants.following.applied_rows import GONE, TABLES

LAST_FOLLOWED_ID = 1_000_000_000_000
"""The largest id of the other installation, which counts from 1 and never skips a number."""
MAX_NOTES = 100
_ONLY = 1
_OWN = (organizations, users, assistants, rubrics, knowledge_bases)


class Claims:
    """Stores the claim."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def claim(self, request: pb.ClaimFollowingRequest) -> bool:
        """Claim the following, or renew the claim. Return whether the claimant has it."""
        async with self._database.reading() as connection:  # mostly another one follows
            row, now = await _row(connection), await seconds_now(connection)
        if row is not None and _is_anothers(row, request.claimant, now):
            return False
        async with self._database.writing() as connection:
            row, now = await _held(connection), await seconds_now(connection)
            if _is_anothers(row, request.claimant, now):
                return False
            if row.claimant != request.claimant:
                if request.release:
                    return False
                for table in _OWN:
                    await continue_after(connection, table, LAST_FOLLOWED_ID)
            values = {
                "claimant": "" if request.release else request.claimant,
                "claimed_until": 0 if request.release else now + CLAIM_SECONDS,
                **(_reported(request.report, row) if request.HasField("report") else {}),
            }
            await connection.execute(update(following).values(**values))
        return not request.release

    async def status(self) -> pb.GetFollowingResponse:
        """Return the state of the following."""
        async with self._database.reading() as connection:
            row, now = await _row(connection), await seconds_now(connection)
            gone = func.sum(case((followed_rows.c.digest == GONE, 1), else_=0))
            refused = func.sum(case((followed_rows.c.refusal != "", 1), else_=0))
            counts = await connection.execute(
                select(followed_rows.c.source, func.count(), gone, refused).group_by(
                    followed_rows.c.source
                )
            )
            by_table = {source: numbers for source, *numbers in counts}
            noted = followed_rows.c.noted_at.is_not(None)
            newest = followed_rows.c.noted_at.desc()
            notes = await connection.execute(
                select(followed_rows).where(noted).order_by(newest).limit(MAX_NOTES)
            )
            messages = [_note(each) for each in notes]
        response = pb.GetFollowingResponse(notes=messages)
        if row is not None:
            response.following = row.claimed_until >= now
            response.report.CopyFrom(_report(row))
        for number, source in TABLES.items():
            if source in by_table:
                rows, gone_rows, refused_rows = by_table[source]
                response.tables.add(
                    table=number, rows=rows - gone_rows, gone=gone_rows, refused=refused_rows
                )
        return response


async def require_claim(connection: AsyncConnection, claimant: str) -> None:
    """Hold the claim until the transaction ends.

    Raises:
        ConflictError: Another process has it.
    """
    row = await _held(connection)
    if row.claimant != claimant:
        raise ConflictError("Another process follows the database.")


async def _row(connection: AsyncConnection) -> Row[Any] | None:
    query = select(following).where(following.c.id == _ONLY)
    return (await connection.execute(query)).one_or_none()


async def _held(connection: AsyncConnection) -> Row[Any]:
    query = insertion(connection, following).values(id=_ONLY, claimed_until=0)
    await connection.execute(query.on_conflict_do_nothing())
    held = select(following).where(following.c.id == _ONLY).with_for_update()
    return (await connection.execute(held)).one()


def _is_anothers(row: Row[Any], claimant: str, now: int) -> bool:
    return bool(row.claimant and row.claimant != claimant and row.claimed_until >= now)


def _reported(report: pb.FollowingReport, row: Row[Any]) -> dict[str, Any]:
    return {
        "compared_at": report.compare_time.seconds or row.compared_at,
        "changed_at": report.change_time.seconds or row.changed_at,
        "problem": report.problem.replace("\0", ""),
    }


def _report(row: Row[Any]) -> pb.FollowingReport:
    return pb.FollowingReport(
        compare_time=timestamp(row.compared_at),
        change_time=timestamp(row.changed_at),
        problem=row.problem,
    )


def _note(row: Row[Any]) -> pb.FollowedNote:
    table = next(number for number, source in TABLES.items() if source == row.source)
    return pb.FollowedNote(
        table=table,
        row_id=row.row_id,
        note_time=timestamp(row.noted_at),
        note=row.note,
        refusal=row.refusal,
    )
