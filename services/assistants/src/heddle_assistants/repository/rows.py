"""Reads the rows of assistants."""

from collections.abc import AsyncGenerator

from heddle_conversion.identifiers import row_id
from heddle_runtime.identity.callers import Identity, home
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import ColumnElement, bindparam, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.access import ASSISTANTS, OF_GROUPS, may_use
from heddle_assistants.database.assistant_row import LIVING, ROWS, Row
from heddle_assistants.database.schema import assistants, group_assistants, group_members


class Rows:
    """Finds the rows of assistants that are not deleted."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._read = database.row_reader(ROWS.where(assistants.c.id == bindparam("id")))
        self._read_membership = database.row_reader(
            OF_GROUPS.where(
                group_assistants.c.assistant_id == bindparam("id"),
                group_members.c.email == bindparam("email"),
            )
        )

    async def get(self, identifier: str) -> Row | None:
        """Return the row of an identifier, if there is one."""
        number = row_id(identifier)
        record = None if number is None else await self._read(number)
        row = None if record is None else Row._make(record)
        return None if row is None or row.deleted else row

    async def usable(self, identifier: str, identity: Identity) -> Row | None:
        """Return a row likewise, None if `identity` may not use the assistant."""
        row = await self.get(identifier)
        if row is None or may_use(identity, row):
            return row
        at_home = row.organization == home(identity) and "\0" not in identity.subject
        in_group = at_home and await self._read_membership(row.id, identity.subject)
        return row if in_group else None

    async def documents_with(self, text: str) -> AsyncGenerator[str]:
        """Yield the metadata of all assistants that contain a text, also of deleted ones."""
        column = assistants.c.metadata
        query = select(column).where(column.contains(text))
        async with self._database.reading() as connection:
            async for row in await connection.stream(query):
                yield row[0]

    async def named(self, name: str, identity: Identity) -> list[Row]:
        """Return rows of a name that `identity` may use: its own, else the first two."""
        if not _is_storable(name):
            return []
        mine = ASSISTANTS.owned(identity)
        query = (
            ROWS.where(assistants.c.name == name, LIVING, ASSISTANTS.usable(identity))
            .order_by(mine.desc(), assistants.c.id)
            .limit(2)
            .add_columns(mine)
        )
        async with self._database.reading() as connection:
            records = (await connection.execute(query)).all()
        rows = [Row._make(each[:-1]) for each in records]
        return rows[:1] if records and records[0][-1] else rows

    async def after(
        self, last: int, limit: int, where: ColumnElement[bool], text: str = "", skip: int = 0
    ) -> list[Row]:
        """Return rows in the order of their ids.

        Args:
            last: The id before the first.
            limit: The maximum number of results.
            where: The condition of the rows.
            text: Only rows whose name or title contains this, in any case of letters, and
                possibly a few others.
            skip: The number of rows to leave out at the beginning.
        """
        if not _is_storable(text):
            return []
        query = ROWS.where(assistants.c.id > last, LIVING, where)
        if text:
            query = query.where(_contains(text))
        async with self._database.reading() as connection:
            query = query.order_by(assistants.c.id).limit(limit).offset(skip)
            records = await connection.execute(query)
            return [Row._make(each) for each in records]

    async def count(self, where: ColumnElement[bool]) -> int:
        """Return the number of rows."""
        query = select(func.count()).select_from(assistants).where(LIVING, where)
        async with self._database.reading() as connection:
            return await connection.scalar(query) or 0


async def locked(connection: AsyncConnection, identifier: str) -> Row | None:
    """Return the row of an identifier, locked until the transaction ends."""
    row = await locked_or_deleted(connection, identifier)
    return None if row is None or row.deleted else row


async def locked_or_deleted(connection: AsyncConnection, identifier: str) -> Row | None:
    """Return the row of an identifier likewise, also one of a deleted assistant."""
    number = row_id(identifier)
    if number is None:
        return None
    query = ROWS.where(assistants.c.id == number)
    # SQLite has no such words and needs none: a writer is alone.
    record = (await connection.execute(query.with_for_update(of=assistants))).one_or_none()
    return None if record is None else Row._make(record)


def _is_storable(text: str) -> bool:
    return "\0" not in text  # which PostgreSQL neither keeps nor compares


def _contains(text: str) -> ColumnElement[bool]:
    # Databases differ in what they know of letters beyond ASCII: each of those may be any here.
    letters = (f"\\{each}" if each in "%_\\" else each for each in text.lower())
    pattern = "%" + "".join(each if each.isascii() else "_" for each in letters) + "%"
    columns = (assistants.c.name, assistants.c.title)
    return or_(*(func.lower(column).like(pattern, escape="\\") for column in columns))
