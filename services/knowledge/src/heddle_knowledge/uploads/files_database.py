"""The database of uploaded files, of files of collections, of pages, and of audit events."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import asyncpg
import structlog
from heddle_runtime.errors import StorageError
from heddle_runtime.storage import storage_error

from heddle_knowledge.engines.postgres import SCHEMA, set_up

log = structlog.get_logger(__name__)
_CONNECTIONS = 6
_SECONDS = 30.0
FAILURES = (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError)
_TABLES = f"""
CREATE TABLE IF NOT EXISTS {SCHEMA}.uploads (
  person text NOT NULL,
  id text NOT NULL,
  record bytea NOT NULL,
  size bigint NOT NULL,
  content bytea,
  object_key text UNIQUE,
  PRIMARY KEY (person, id)
);
ALTER TABLE {SCHEMA}.uploads ALTER COLUMN content SET STORAGE EXTERNAL;
CREATE TABLE IF NOT EXISTS {SCHEMA}.attached_files (
  collection text NOT NULL,
  id text NOT NULL,
  state text NOT NULL,
  created_at bigint NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  record bytea NOT NULL,
  PRIMARY KEY (collection, id)
);
CREATE INDEX IF NOT EXISTS attached_files_by_id ON {SCHEMA}.attached_files (id);
CREATE INDEX IF NOT EXISTS attached_files_on_their_way
  ON {SCHEMA}.attached_files (created_at) WHERE state = 'in_progress';
CREATE TABLE IF NOT EXISTS {SCHEMA}.file_batches (
  collection text NOT NULL,
  id text NOT NULL,
  record bytea NOT NULL,
  PRIMARY KEY (collection, id)
);
CREATE TABLE IF NOT EXISTS {SCHEMA}.leases (
  collection text NOT NULL,
  name text NOT NULL,
  holder text NOT NULL UNIQUE,
  expires_at timestamptz NOT NULL,
  wanted boolean NOT NULL DEFAULT false,
  PRIMARY KEY (collection, name)
);
ALTER TABLE {SCHEMA}.leases ADD COLUMN IF NOT EXISTS report bytea;
CREATE TABLE IF NOT EXISTS {SCHEMA}.audit_recorder (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  id text NOT NULL,
  last_number bigint NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS {SCHEMA}.audit_outbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  number bigint UNIQUE,
  event bytea NOT NULL
);
"""
ResultT = TypeVar("ResultT")
Connection = asyncpg.pool.PoolConnectionProxy


class FilesDatabase:
    """Tables in PostgreSQL beside the collections. It is connected to at first need.

    All methods raise `StorageError` if the database cannot be reached or refuses.
    """

    def __init__(self, url: str, tables: str = "") -> None:
        """Prepare. The event loop must be running: it does the work of threads, too.

        Args:
            url: The address.
            tables: Statements that create further tables, if they do not exist.
        """
        self._url = url
        self._tables = _TABLES + tables
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
            raise storage_error(
                f"The database of the knowledge service fails: {type(error).__name__}. Check "
                "HEDDLE_KNOWLEDGE_STORE_URL and the log of the database."
            ) from error

    def rows(self, statement: str, *arguments: object) -> list[asyncpg.Record]:
        """Return the rows of a statement, in a thread."""
        return self.wait(self.fetch(statement, *arguments))

    def wait(self, work: Coroutine[Any, Any, ResultT]) -> ResultT:
        """Return the result of work that the event loop does, in a thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Let the event loop do work that may fail, from any thread. Does not block."""
        asyncio.run_coroutine_threadsafe(self._logged(work), self._loop)

    async def _logged(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except StorageError as error:
            log.warning("not stored", diagnosis=error.diagnosis)

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
            await connection.execute(self._tables)
