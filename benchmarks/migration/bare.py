"""Reading one row by its key, without a service."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

import aiosqlite
import asyncpg
from heddle_assistants.database.schema import assistants
from heddle_runtime.storage.database.address import SqliteAddress, parse
from heddle_runtime.storage.database.engine import open_database
from sqlalchemy import bindparam, select

DRIVER = "bare driver"
"""What the limit compares with: aiosqlite, asyncpg."""
SQLALCHEMY = "SQLAlchemy"
CONCURRENCY = (1, 16)
_BY_ID = select(assistants).where(assistants.c.id == bindparam("id"))

Read = Callable[[int], Awaitable[object]]
Way = AbstractAsyncContextManager[Read]


def bare(url: str) -> dict[str, Way]:
    """Return the ways that lead to a row of the database at `url`."""
    address = parse(url)
    if isinstance(address, SqliteAddress):
        driver = _aiosqlite(str(address.path))
    else:
        driver = _asyncpg(address.dsn)
    return {DRIVER: driver, SQLALCHEMY: _sqlalchemy(url), "row reader": _row_reader(url)}


@asynccontextmanager
async def _aiosqlite(path: str) -> AsyncGenerator[Read]:
    async with aiosqlite.connect(path) as connection:

        async def read(identifier: int) -> object:
            query = "SELECT * FROM assistants WHERE id = ?"
            return await connection.execute_fetchall(query, (identifier,))

        yield read


@asynccontextmanager
async def _asyncpg(dsn: str) -> AsyncGenerator[Read]:
    async with AsyncExitStack() as stack:
        free = []
        for _ in range(max(CONCURRENCY)):  # nobody waits for another's answer
            connection = await asyncpg.connect(dsn)
            stack.push_async_callback(connection.close)
            free.append(connection)

        async def read(identifier: int) -> object:
            connection = free.pop()
            row = await connection.fetchrow("SELECT * FROM assistants WHERE id = $1", identifier)
            free.append(connection)
            return row

        yield read


@asynccontextmanager
async def _sqlalchemy(url: str) -> AsyncGenerator[Read]:
    async with open_database(url) as database:

        async def read(identifier: int) -> object:
            async with database.reading() as connection:
                return (await connection.execute(_BY_ID, {"id": identifier})).one()

        yield read


@asynccontextmanager
async def _row_reader(url: str) -> AsyncGenerator[Read]:
    async with open_database(url) as database:
        yield database.row_reader(_BY_ID)
