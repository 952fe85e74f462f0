"""PostgreSQL with pgvector, in a schema of its own."""

import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import asyncpg
import pyarrow as pa

from heddle_knowledge.engines.interface import Layout
from heddle_knowledge.engines.postgres_locks import AdvisoryLocks
from heddle_knowledge.engines.postgres_table import PostgresTable
from heddle_knowledge.engines.postgres_types import prepare, statements, table
from heddle_knowledge.errors import StorageError

SCHEMA = "heddle_knowledge"
_TABLES = f"""
CREATE TABLE IF NOT EXISTS {SCHEMA}.tables (
  name text PRIMARY KEY, version bigint NOT NULL, language text NOT NULL
)
"""
_CONNECTIONS = 10
_NAME = re.compile(r"[a-z_]+[0-9a-f]{0,32}")
_FAILURES = (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError)


@asynccontextmanager
async def open_database(url: str) -> AsyncGenerator["PostgresEngine"]:
    """Open the tables of `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`.

    Raises:
        StorageError: It cannot be reached, or has no pgvector.
    """
    try:
        vectors = await set_up(url)
        settings = {"search_path": f"{SCHEMA}, {vectors}", "application_name": SCHEMA}
        pool = await asyncpg.create_pool(
            url,
            min_size=1,
            max_size=_CONNECTIONS,
            init=partial(prepare, schema=vectors),
            server_settings=settings,
        )
    except asyncpg.UndefinedFileError as error:
        raise StorageError(
            "The database of the knowledge store has no pgvector. Install the extension 'vector' "
            "on its server."
        ) from error
    except (*_FAILURES, ValueError) as error:
        raise StorageError(
            "The database of the knowledge store cannot be opened. Check its address, and that "
            "its user may make a schema and the extension 'vector'."
        ) from error
    locks = AdvisoryLocks(partial(asyncpg.connect, url, server_settings=settings))
    try:
        yield PostgresEngine(pool, locks)
    finally:
        await pool.close()


async def set_up(url: str) -> str:
    """Create what all tables need; return the schema of the extension."""
    connection = await asyncpg.connect(url)
    try:
        async with connection.transaction():
            # Two that do the same at once would fail.
            await connection.execute("SELECT pg_advisory_xact_lock(hashtext($1))", SCHEMA)
            await connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
            await connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
            await connection.execute(_TABLES)
        extension_schema = await connection.fetchval(
            "SELECT nspname FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace "
            "WHERE extname = 'vector'"
        )
        return str(extension_schema)
    finally:
        await connection.close()


class PostgresEngine:
    """Tables of PostgreSQL. Made by `open_database`."""

    name = "postgresql"
    failures: tuple[type[Exception], ...] = _FAILURES

    def __init__(self, pool: asyncpg.Pool, locks: AdvisoryLocks) -> None:
        self._pool = pool
        self.locks = locks

    async def names(self) -> list[str]:
        """Return the names of the tables."""
        return [row["name"] for row in await self._pool.fetch("SELECT name FROM tables")]

    async def make(self, name: str, layout: Layout) -> PostgresTable:
        """Create an empty table with its indexes, in one transaction."""
        async with self._pool.acquire() as connection, connection.transaction():
            for statement in statements(_checked(name), layout):
                await connection.execute(statement)
            await connection.execute(
                "INSERT INTO tables (name, version, language) VALUES ($1, 0, $2)",
                name,
                layout.language,
            )
        return PostgresTable(self._pool, name, layout)

    async def open(self, name: str, layout: Layout) -> PostgresTable:
        """Open a table."""
        opened = PostgresTable(self._pool, _checked(name), layout)
        await opened.version()  # fails if there is none
        return opened

    async def scan(self, name: str, layout: Layout, size: int) -> AsyncIterator[pa.Table]:
        """Yield all rows of a table as of one moment, in the order of its keys."""
        columns, keys = ", ".join(layout.schema.names), ", ".join(layout.keys)
        statement = f"SELECT {columns} FROM {_checked(name)} ORDER BY {keys}"  # noqa: S608 - only names of ours
        async with self._pool.acquire() as connection, connection.transaction(readonly=True):
            cursor = await connection.cursor(statement)
            while records := await cursor.fetch(size):
                yield table(records, layout.schema)

    async def drop(self, name: str) -> None:
        """Remove a table with its rows, if it is there."""
        async with self._pool.acquire() as connection, connection.transaction():
            await connection.execute("DELETE FROM tables WHERE name = $1", name)
            await connection.execute(f"DROP TABLE IF EXISTS {_checked(name)}")

    async def rest(self) -> None:
        """Do nothing: the server has the memory."""

    async def left_over(self, name: str) -> bool:
        """Return True: the creator of a table would hold the lock that the caller holds."""
        return True


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(name)
    return name
