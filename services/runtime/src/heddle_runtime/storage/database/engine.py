"""Opens the database that a URL names."""

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

from sqlalchemy import Select
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_runtime.storage.database.address import SqliteAddress, parse
from heddle_runtime.storage.database.postgresql import open_postgresql
from heddle_runtime.storage.database.rows import ReadRow
from heddle_runtime.storage.database.sqlite import open_sqlite


class Database(Protocol):
    """A database, SQLite or PostgreSQL.

    What cannot be done now but may be later (a lock that stays taken, a conflict of transactions, a
    server that went away) is an `UnavailableError`. A broken constraint is SQLAlchemy's
    `IntegrityError`. A block that opens another one holds two of few connections: do not.
    """

    name: str
    """The address without a password."""

    def reading(self) -> AbstractAsyncContextManager[AsyncConnection]:
        """Yield a connection that sees one state of the database, and cannot change it."""

    def writing(self) -> AbstractAsyncContextManager[AsyncConnection]:
        """Yield a connection in a transaction that ends with the block.

        An exception rolls everything back. Otherwise all is on disk at the end of the block.

        Raises:
            StorageError: The disk is full, or the file was removed or replaced.
        """

    async def check(self) -> None:
        """Check that the database can be read and written.

        Raises:
            HeddleError: It cannot. The diagnosis names the cause and the remedy.
        """

    async def clean_up(self) -> None:
        """Remove deleted rows from the files if there are any; give up after a short time.

        Raises:
            HeddleError: Other connections are in the way. No data is lost.
        """

    async def forget_deleted(self) -> None:
        """Remove all deleted rows from the files.

        Raises:
            UnavailableError: Other connections are always in the way. No data is lost.
        """

    def row_reader(self, query: Select[*tuple[Any, ...]]) -> ReadRow:
        """Return a fast function that reads one row with the bare driver.

        `query` has one `bindparam` for each value. Prepare it once, where the service is put
        together.
        """


@asynccontextmanager
async def open_database(url: str, namespace: str = "") -> AsyncGenerator[Database]:
    """Open `sqlite:///PATH` or `postgresql://USER:PASSWORD@HOST:PORT/NAME` until the block is left.

    Args:
        url: The address.
        namespace: The schema of PostgreSQL that has the tables, which is made if it is missing;
            empty: the one that the server selects for its user.

    Raises:
        ValueError: The URL cannot be read.
        UnusableDatabaseError: The database cannot be reached, or is none.
    """
    address = parse(url)
    if isinstance(address, SqliteAddress):
        async with open_sqlite(address.path) as sqlite:
            yield sqlite
    else:
        async with open_postgresql(address, namespace) as postgresql:
            yield postgresql
