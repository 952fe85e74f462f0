"""The table of what users write and share."""

import hashlib
import json
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

from google.protobuf.message import Message
from heddle_runtime.contract.audit import Change
from heddle_runtime.contract.limits import MAX_OWNER_CHARACTERS
from heddle_runtime.contract.paging import page_size, write_token
from heddle_runtime.errors import ConflictError, NotFoundError
from heddle_runtime.identity.call_metadata import caller
from heddle_runtime.identity.callers import DEFAULT_ORGANIZATION, Identity
from heddle_runtime.identity.permissions import may_change
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import Column, Select, Table, bindparam, delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.access import PROMPTS, RUBRICS, OwnedRows
from heddle_assistants.accounts.owner_organizations import (
    organization_id,
    organization_of,
    owner_of_new,
)
from heddle_assistants.audit.log import AuditLog
from heddle_assistants.database.paging import fitting, row_before
from heddle_assistants.database.schema import organizations, prompts, rubrics
from heddle_assistants.field_checks import NO_USER, refuse_nul, require

MessageT = TypeVar("MessageT", bound=Message)


class ListRequest(Protocol):
    """A request for a page."""

    page_size: int
    page_token: str


class Row(NamedTuple):
    """A thing of a library."""

    number: int
    """The number of the row, by which lists are ordered. No other service uses it."""
    id: str
    organization: str
    """The slug."""
    owner: str
    title: str
    description: str | None
    published: bool
    """Whether others of the organisation may read it."""
    created_at: int
    updated_at: int
    contents: tuple[str, ...]
    """The values of `Kind.contents`."""

    @classmethod
    def of(cls, record: Sequence[Any]) -> "Row":
        """Return a row of `Kind.query`."""
        return cls._make((*record[:_COLUMNS], tuple(record[_COLUMNS:])))

    @property
    def etag(self) -> str:
        """A text that changes with every change of the row."""
        return hashlib.sha256(json.dumps(self).encode()).hexdigest()[:32]


_COLUMNS = len(Row._fields) - 1


@dataclass(frozen=True, slots=True)
class Kind:
    """The table of a library, and what its things are called."""

    name: str
    table: Table
    key: Column[str]
    """The column with the identifiers."""
    contents: Mapping[str, Column[str]]
    """The columns with the content, by their names in the audit log."""
    rows: OwnedRows

    def query(self) -> Select[Any]:
        """Return the query for all rows, with columns in the order of `Row`."""
        columns = self.table.c
        return select(
            *(columns.id, self.key, organizations.c.slug, columns.owner_email),
            *(columns.title, columns.description, columns.is_public),
            *(columns.created_at, columns.updated_at, *self.contents.values()),
        ).join(organizations, columns.organization_id == organizations.c.id)

    def missing(self, identifier: str) -> NotFoundError:
        """Return the error about a thing that is missing, or must seem so."""
        known = identifier[:200]
        return NotFoundError(f"No {self.name} has the id {known!r}.", **self.metadata(known))

    def metadata(self, identifier: str) -> dict[str, Any]:
        """Return the metadata of errors about a thing."""
        return {self.name: identifier}


RUBRIC = Kind("rubric", rubrics, rubrics.c.rubric_id, {"content": rubrics.c.rubric_data}, RUBRICS)
PROMPT = Kind(
    "prompt",
    prompts,
    prompts.c.prompt_id,
    {"system_prompt": prompts.c.system_prompt, "prompt_template": prompts.c.prompt_template},
    PROMPTS,
)
Allowed = Callable[[Row], bool]
"""Returns whether somebody may read a thing."""
Columns = Mapping[str, Any]
"""New values by the names of columns."""


class Library:
    """Finds, makes, changes and deletes the things of one kind."""

    def __init__(self, kind: Kind, database: Database, audit: AuditLog) -> None:
        self._kind = kind
        self._database = database
        self._audit = audit
        self._read = database.row_reader(kind.query().where(kind.key == bindparam("id")))

    async def get(self, identifier: str, allowed: Allowed) -> Row:
        """Return a thing.

        Raises:
            NotFoundError: There is none that is `allowed`.
        """
        record = None if "\0" in identifier else await self._read(identifier)
        row = None if record is None else Row.of(record)
        if row is None or not allowed(row):
            raise self._kind.missing(identifier)
        return row

    async def home(self, owner: str) -> str:
        """Return the slug of the organisation where a user is at home."""
        async with self._database.reading() as connection:
            return await organization_of(connection, owner) or DEFAULT_ORGANIZATION

    async def page(
        self, request: ListRequest, message: Callable[[Row], MessageT], *, own: bool
    ) -> tuple[list[MessageT], str]:
        """Return a page of what the caller may read, in the order of numbers, and the next token.

        Args:
            request: The size of the page and its token.
            message: Returns a row as a message.
            own: Only those that the caller owns.
        """
        identity, size = caller().identity, page_size(request.page_size)
        rows, number = self._kind.rows, self._kind.table.c.id
        which = rows.owned(identity) if own else rows.readable(identity)
        query = self._kind.query().where(number > row_before(request.page_token), which)
        async with self._database.reading() as connection:
            records = await connection.execute(query.order_by(number).limit(size + 1))
            listed = [Row.of(each) for each in records]
        shown = fitting(map(message, listed[:size]))
        more = len(listed) > len(shown)
        return shown, write_token(str(listed[len(shown) - 1].number)) if more else ""

    async def make(
        self, identity: Identity, owner: str, columns: Callable[[str, int], Columns]
    ) -> Row:
        """Store a new thing.

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
                self._kind.key.name: identifier,
                "organization_id": await organization_id(connection, organization),
                "owner_email": whose,
                "created_at": now,
                "updated_at": now,
            }
            await connection.execute(insert(self._kind.table).values(**values))
            row = await self._row(connection, identifier)
            changes.append(self._change("create", None, row))
            return row

    async def change(
        self,
        identifier: str,
        identity: Identity,
        etag: str,
        change: Callable[[Row, int], Columns],
    ) -> Row:
        """Change a thing.

        Args:
            identifier: Its identifier.
            identity: The caller.
            etag: The etag that the caller read. Empty: any.
            change: Returns the new values, none if nothing changes, of the row and the time.

        Raises:
            ConflictError: It changed since it was read.
            NotFoundError: There is none that `identity` may change.
        """
        now = int(time.time())
        async with self._audit.writing() as (connection, changes):
            row = await self._held(connection, identifier, identity, etag)
            values = change(row, now)
            if not values:
                return row
            table = self._kind.table
            query = update(table).where(table.c.id == row.number)
            await connection.execute(query.values(**values, updated_at=now))
            changed = await self._row(connection, identifier)
            changes.append(self._change("update", row, changed))
            return changed

    async def delete(self, identifier: str, identity: Identity, etag: str) -> None:
        """Delete a thing. Raises what `change` does."""
        async with self._audit.writing() as (connection, changes):
            row = await self._held(connection, identifier, identity, etag)
            table = self._kind.table
            await connection.execute(delete(table).where(table.c.id == row.number))
            changes.append(self._change("delete", row, None))

    async def _held(
        self, connection: AsyncConnection, identifier: str, identity: Identity, etag: str
    ) -> Row:
        if "\0" in identifier:
            raise self._kind.missing(identifier)
        query = self._kind.query().where(self._kind.key == identifier)
        # SQLite has no words for it and needs none: a writer is alone.
        locked = query.with_for_update(of=self._kind.table)
        record = (await connection.execute(locked)).one_or_none()
        row = None if record is None else Row.of(record)
        if row is None or not may_change(identity, row):
            raise self._kind.missing(identifier)
        if etag and etag != row.etag:
            name = self._kind.name
            message = f"The {name} {identifier!r} changed since it was read. Read it again."
            raise ConflictError(message, **self._kind.metadata(identifier))
        return row

    async def _row(self, connection: AsyncConnection, identifier: str) -> Row:
        query = self._kind.query().where(self._kind.key == identifier)
        return Row.of((await connection.execute(query)).one())

    def _change(self, action: str, before: Row | None, after: Row | None) -> Change:
        row = after or before
        assert row is not None  # noqa: S101 - there is one of them
        return Change(
            f"{self._kind.name}.{action}",
            row.id,
            row.organization,
            None if before is None else self._members(before),
            None if after is None else self._members(after),
        )

    def _members(self, row: Row) -> dict[str, Any]:
        return {
            "owner": row.owner,
            "title": row.title,
            "description": row.description,
            **dict(zip(self._kind.contents, row.contents, strict=True)),
            "public": row.published,
        }


def check_owner(kind: Kind, owner: str) -> None:
    """Refuse an owner of a new or changed thing that cannot be a user."""
    refuse_nul({"owner": owner}, f"{kind.name}.")
    require(len(owner) <= MAX_OWNER_CHARACTERS, f"{kind.name}.owner", NO_USER)
