"""The table of rubrics."""

import hashlib
import json
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from heddle_runtime.contract.audit import Change
from heddle_runtime.errors import ConflictError, NotFoundError
from heddle_runtime.identity.callers import DEFAULT_ORGANIZATION, Identity
from heddle_runtime.identity.permissions import may_change
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import bindparam, delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.access import RUBRICS
from heddle_assistants.accounts.owner_organizations import (
    organization_id,
    organization_of,
    owner_of_new,
)
from heddle_assistants.audit.log import AuditLog
from heddle_assistants.database.schema import organizations, rubrics


class Row(NamedTuple):
    """A row of `rubrics`."""

    number: int
    """The number of the row, by which lists are ordered. No other service uses it."""
    id: str
    organization: str
    """The slug."""
    owner: str
    title: str
    description: str | None
    content: str
    """The text of a JSON object, unless something else was imported."""
    published: bool
    """Whether others of the organisation may read it."""
    created_at: int
    updated_at: int

    @property
    def etag(self) -> str:
        """A text that changes with every change of the row."""
        return hashlib.sha256(json.dumps(self).encode()).hexdigest()[:32]


ROWS = select(
    rubrics.c.id,
    rubrics.c.rubric_id,
    organizations.c.slug,
    rubrics.c.owner_email,
    rubrics.c.title,
    rubrics.c.description,
    rubrics.c.rubric_data,
    rubrics.c.is_public,
    rubrics.c.created_at,
    rubrics.c.updated_at,
).join(organizations, rubrics.c.organization_id == organizations.c.id)
"""The query for all rows, with columns in the order of `Row`."""


Allowed = Callable[[Row], bool]
"""Returns whether somebody may read a rubric."""
Columns = Mapping[str, Any]
"""New values by the names of columns."""


class Rubrics:
    """Finds, makes, changes and deletes rubrics."""

    def __init__(self, database: Database, audit: AuditLog) -> None:
        self._database = database
        self._audit = audit
        self._read = database.row_reader(ROWS.where(rubrics.c.rubric_id == bindparam("id")))

    async def get(self, identifier: str, allowed: Allowed) -> Row:
        """Return a rubric.

        Raises:
            NotFoundError: There is none that is `allowed`.
        """
        record = None if "\0" in identifier else await self._read(identifier)
        row = None if record is None else Row._make(record)
        if row is None or not allowed(row):
            raise no_rubric(identifier)
        return row

    async def home(self, owner: str) -> str:
        """Return the slug of the organisation where a user is at home."""
        async with self._database.reading() as connection:
            return await organization_of(connection, owner) or DEFAULT_ORGANIZATION

    async def listed(self, identity: Identity, after: int, limit: int, *, own: bool) -> list[Row]:
        """Return rubrics that `identity` may read, in the order of their numbers.

        Args:
            identity: The caller.
            after: The number before the first.
            limit: The maximum number of results.
            own: Only those that `identity` owns.
        """
        which = RUBRICS.owned(identity) if own else RUBRICS.readable(identity)
        query = ROWS.where(rubrics.c.id > after, which)
        async with self._database.reading() as connection:
            records = await connection.execute(query.order_by(rubrics.c.id).limit(limit))
            return [Row._make(each) for each in records]

    async def make(
        self, identity: Identity, owner: str, columns: Callable[[str, int], Columns]
    ) -> Row:
        """Store a new rubric.

        Args:
            identity: The caller.
            owner: The owner; empty for `identity`.
            columns: Returns the other columns for an identifier and a time in seconds.

        Raises:
            PermissionDeniedError: `identity` may not make it for that owner.
        """
        identifier, now = str(uuid.uuid4()), int(time.time())
        async with self._audit.writing() as (connection, changes):
            whose, organization = await owner_of_new(connection, identity, owner)
            values = {
                **columns(identifier, now),
                "rubric_id": identifier,
                "organization_id": await organization_id(connection, organization),
                "owner_email": whose,
                "created_at": now,
                "updated_at": now,
            }
            await connection.execute(insert(rubrics).values(**values))
            row = await _locked_row(connection, identifier)
            changes.append(_change("create", None, row))
            return row

    async def change(
        self,
        identifier: str,
        identity: Identity,
        etag: str,
        change: Callable[[Row, int], Columns],
    ) -> Row:
        """Change a rubric.

        Args:
            identifier: The identifier of the rubric.
            identity: The caller.
            etag: The etag that the caller read. Empty: any.
            change: Returns the new values, none if nothing changes, of the row and the time.

        Raises:
            ConflictError: It changed since it was read.
            NotFoundError: There is none that `identity` may change.
        """
        now = int(time.time())
        async with self._audit.writing() as (connection, changes):
            row = await _held(connection, identifier, identity, etag)
            values = change(row, now)
            if not values:
                return row
            query = update(rubrics).where(rubrics.c.id == row.number)
            await connection.execute(query.values(**values, updated_at=now))
            changed = await _locked_row(connection, identifier)
            changes.append(_change("update", row, changed))
            return changed

    async def delete(self, identifier: str, identity: Identity, etag: str) -> None:
        """Delete a rubric. Raises what `change` does."""
        async with self._audit.writing() as (connection, changes):
            row = await _held(connection, identifier, identity, etag)
            await connection.execute(delete(rubrics).where(rubrics.c.id == row.number))
            changes.append(_change("delete", row, None))


def no_rubric(identifier: str) -> NotFoundError:
    """Return the error about a rubric that is missing, or must seem so."""
    known = identifier[:200]
    return NotFoundError(f"No rubric has the id {known!r}.", rubric=known)


def _change(action: str, before: Row | None, after: Row | None) -> Change:
    row = after or before
    assert row is not None  # noqa: S101 - there is one of them
    return Change(
        f"rubric.{action}",
        row.id,
        row.organization,
        None if before is None else _members(before),
        None if after is None else _members(after),
    )


def _members(row: Row) -> dict[str, Any]:
    return {
        "owner": row.owner,
        "title": row.title,
        "description": row.description,
        "content": row.content,
        "public": row.published,
    }


async def _held(connection: AsyncConnection, identifier: str, identity: Identity, etag: str) -> Row:
    if "\0" in identifier:
        raise no_rubric(identifier)
    query = ROWS.where(rubrics.c.rubric_id == identifier)
    # SQLite has no words for it and needs none: a writer is alone.
    record = (await connection.execute(query.with_for_update(of=rubrics))).one_or_none()
    row = None if record is None else Row._make(record)
    if row is None or not may_change(identity, row):
        raise no_rubric(identifier)
    if etag and etag != row.etag:
        message = f"The rubric {identifier!r} changed since it was read. Read it again."
        raise ConflictError(message, rubric=identifier)
    return row


async def _locked_row(connection: AsyncConnection, identifier: str) -> Row:
    query = ROWS.where(rubrics.c.rubric_id == identifier)
    return Row._make((await connection.execute(query)).one())
