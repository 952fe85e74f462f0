"""The tables of pages in PostgreSQL."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import asyncpg
from heddle_runtime.errors import StorageError
from heddle_runtime.storage.failures import storage_error

from heddle_knowledge.engines.postgres import SCHEMA, set_up

_CONNECTIONS = 6
_SECONDS = 30.0
FAILURES = (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError)
_LAYOUTS = f"CREATE TABLE IF NOT EXISTS {SCHEMA}.layouts (digest text PRIMARY KEY)"
_NEW_LAYOUT = "INSERT INTO layouts VALUES ($1) ON CONFLICT DO NOTHING RETURNING true"
ResultT = TypeVar("ResultT")
Connection = asyncpg.pool.PoolConnectionProxy


class PageTables:
    """Tables in PostgreSQL beside the collections. It is connected to at first need.

    All methods raise `StorageError` if the database cannot be reached or refuses.
    """

    def __init__(self, url: str, tables: str) -> None:
        """Prepare. The event loop must be running: it does the work of threads, too.

        Args:
            url: The address.
            tables: Statements that create the tables.
        """
        self._url = url
        self._tables = tables
        self._loop = asyncio.get_running_loop()
        self._opening = asyncio.Lock()
        self._pool: asyncpg.Pool | None = None

    async def fetch(self, statement: str, *arguments: object) -> list[asyncpg.Record]:
        """Return the rows of a statement."""
        async with self.transaction() as connection:
            rows: list[asyncpg.Record] = await connection.fetch(statement, *arguments)
            return rows

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[Connection]:
        """Yield a connection in a transaction, which is committed at the end of the block."""
        try:
            pool = await self._connected()
            async with pool.acquire(timeout=_SECONDS) as connection, connection.transaction():
                yield connection
        except FAILURES as error:
            raise _failure(error) from error

    def rows(self, statement: str, *arguments: object) -> list[asyncpg.Record]:
        """Return the rows of a statement, in a thread."""
        return self.wait(self.fetch(statement, *arguments))

    def wait(self, work: Coroutine[Any, Any, ResultT]) -> ResultT:
        """Return the result of work that the event loop does, in a thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def aclose(self) -> None:
        """Close the connections."""
        if self._pool is not None:
            await self._pool.close()

    async def _connected(self) -> asyncpg.Pool:
        async with self._opening:
            if self._pool is None:
                vectors = await set_up(self._url)
                pool = await asyncpg.create_pool(
                    self._url,
                    min_size=0,
                    max_size=_CONNECTIONS,
                    timeout=_SECONDS,
                    command_timeout=_SECONDS,
                    server_settings={
                        "search_path": f"{SCHEMA}, {vectors}",
                        "application_name": SCHEMA,
                    },
                )
                try:
                    await self._set_up(pool)
                except BaseException:
                    pool.terminate()
                    raise
                self._pool = pool
        return self._pool

    async def _set_up(self, pool: asyncpg.Pool) -> None:
        async with pool.acquire() as connection, connection.transaction():
            # Two that do the same at once would fail.
            await connection.execute("SELECT pg_advisory_xact_lock(hashtext($1))", SCHEMA)
            # Statements that change nothing wait for transactions of other replicas, too.
            await connection.execute(_LAYOUTS)
            layout = hashlib.sha256(self._tables.encode()).hexdigest()
            if await connection.fetchval(_NEW_LAYOUT, layout):
                await connection.execute(self._tables)


def _failure(error: Exception) -> StorageError:
    return storage_error(
        f"The database of the knowledge service fails: {type(error).__name__}. Check "
        "HEDDLE_KNOWLEDGE_STORE_URL and the log of the database."
    )
