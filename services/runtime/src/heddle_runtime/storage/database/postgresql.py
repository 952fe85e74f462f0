"""A database of a PostgreSQL server."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
from sqlalchemy import Select, event, func, select
from sqlalchemy.exc import DBAPIError, DisconnectionError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.schema import CreateSchema

from heddle_runtime.errors import UnavailableError
from heddle_runtime.storage.database.address import PostgresAddress
from heddle_runtime.storage.database.failures import (
    UnusableDatabaseError,
    translated_errors,
    unreachable,
)
from heddle_runtime.storage.database.postgresql_rows import Connection, Connections
from heddle_runtime.storage.database.rows import ReadRow, Row, row_query
from heddle_runtime.storage.database.semaphore import FairSemaphore
from heddle_runtime.storage.failures import storage_error

_POOL = 8
_ROW_CONNECTIONS = 4
_PATIENCE = 10.0  # seconds for whoever waits for a turn
_CONNECTING = 5.0
# A server that only reads, such as a standby, gives out no number of a transaction.
_PROBE = "SELECT pg_current_xact_id()"
# The server ends what takes too long, and the locks that it holds; a call whose own time is up
# closes its connection.
_SETTINGS = {
    "application_name": "heddle",
    "statement_timeout": "30s",
    "lock_timeout": "10s",
    "idle_in_transaction_session_timeout": "60s",
}
_MAX_REWRITTEN_BYTES = 32 * 1024**2  # a larger table would be locked for too long
# The tables of a schema that have deleted rows, as arguments of `_vacuum`.
_DEAD_ROWS = """
SELECT schemaname, relname, pg_total_relation_size(relid) FROM pg_stat_user_tables
WHERE n_dead_tup > 0 AND pg_has_role(current_user, (
  SELECT relowner FROM pg_class WHERE oid = relid
), 'USAGE') AND schemaname = '{schema}'
"""
# Without a limit, other statements queue behind one that waits for its lock.
_LOCK_TIMEOUT = "SET lock_timeout = '1s'"


class PostgresDatabase:
    """A database of a PostgreSQL server; see `engine.Database`."""

    def __init__(self, name: str, namespace: str, engine: AsyncEngine, rows: Connections) -> None:
        self.name = name
        self._namespace = namespace or "public"
        self._engine = engine
        self._snapshots = engine.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )
        self._semaphore = FairSemaphore(_POOL, _PATIENCE)
        self._rows = rows

    @asynccontextmanager
    async def reading(self) -> AsyncGenerator[AsyncConnection]:
        """Yield a connection that sees one state of the database, and cannot change it."""
        with translated_errors(self.name):
            async with self._semaphore, self._snapshots.connect() as connection:
                yield connection

    @asynccontextmanager
    async def writing(self) -> AsyncGenerator[AsyncConnection]:
        """Yield a connection whose changes are on disk when the block is left.

        Writers of one row wait for each other; each sees what the one before it left.
        """
        with translated_errors(self.name):
            async with self._semaphore, self._engine.begin() as connection:
                yield connection

    async def check(self) -> None:
        """Check that the database can be read and written.

        Raises:
            HeddleError: It cannot.
        """
        async with self.writing() as connection:
            try:
                await connection.exec_driver_sql(_PROBE)
            except DBAPIError as error:
                raise storage_error(f"The database {self.name} cannot be written.") from error

    async def clean_up(self) -> None:
        """Remove deleted rows from the files of small tables that have any."""
        outside = self._engine.execution_options(isolation_level="AUTOCOMMIT")
        with translated_errors(self.name):
            async with self._semaphore, outside.connect() as connection:
                await connection.exec_driver_sql(_LOCK_TIMEOUT)
                try:
                    dead = await connection.exec_driver_sql(
                        _DEAD_ROWS.format(schema=self._namespace)
                    )
                    for row in dead.mappings().all():
                        await connection.exec_driver_sql(_vacuum(*row.values()))
                finally:
                    await connection.invalidate()  # no other work gets its setting

    async def forget_deleted(self) -> None:
        """Remove deleted rows, as `clean_up` does."""
        await self.clean_up()

    def row_reader(self, query: Select[*tuple[Any, ...]]) -> ReadRow:
        """Return a function that reads one row."""
        compiled = row_query(query, self._engine.dialect)

        async def read(*values: object) -> Row | None:
            record = await self._rows.fetch_row(compiled.text, values)
            return compiled.row(record) if record is not None else None

        return read


@asynccontextmanager
async def open_postgresql(
    address: PostgresAddress, namespace: str = ""
) -> AsyncGenerator[PostgresDatabase]:
    """Connect to a database, which must exist; see `engine.open_database`."""
    settings = _SETTINGS | ({"search_path": namespace} if namespace else {})

    async def connect() -> Connection:
        try:
            return await asyncpg.connect(address.dsn, timeout=_CONNECTING, server_settings=settings)
        except (OSError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            raise unreachable() from error

    engine = create_async_engine(
        "postgresql+asyncpg://",
        async_creator=connect,
        pool_size=_POOL,
        max_overflow=0,
    )
    event.listen(engine.sync_engine, "checkout", _refuse_closed)
    rows = Connections(connect, address.name, _ROW_CONNECTIONS, _PATIENCE)
    try:
        await _try(rows, address.name)
        if namespace:
            async with engine.begin() as connection:
                # Two that do the same at once would fail.
                await connection.execute(
                    select(func.pg_advisory_xact_lock(func.hashtext(namespace)))
                )
                await connection.execute(CreateSchema(namespace, if_not_exists=True))
        yield PostgresDatabase(address.name, namespace, engine, rows)
    finally:
        await rows.close()
        await engine.dispose()


def _vacuum(schema: str, table: str, size: int) -> str:
    """Return the statement that removes deleted rows of a table.

    A small table is written anew, which excludes other uses for a moment. In a larger one, bytes of
    deleted rows stay until the server writes other rows in their place.
    """
    mode = "(FULL)" if size <= _MAX_REWRITTEN_BYTES else ""
    return f'VACUUM {mode} "{schema}"."{table}"'


async def _try(rows: Connections, name: str) -> None:
    try:
        await rows.fetch_row("SELECT 1", ())
    except UnavailableError as error:
        # Its first line: the others are hints for whoever writes SQL. A time-out has none.
        cause = (str(error.__cause__).splitlines() or ["it does not answer"])[0].rstrip(".")
        raise UnusableDatabaseError(f"Cannot use the database {name}: {cause}.") from error


def _refuse_closed(connection: Any, *_: object) -> None:  # noqa: ANN401 - the adapted driver's
    # The loop has heard of a server that went away, so asking costs nothing; SQLAlchemy then
    # connects anew. Its own `pool_pre_ping` asks the server, at the price of another query.
    if connection.driver_connection.is_closed():
        raise DisconnectionError
