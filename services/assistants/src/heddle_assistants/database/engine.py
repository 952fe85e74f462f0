"""Opening the database that a URL names."""

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

from sqlalchemy import Select
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.database.address import SqliteAddress, parse
from heddle_assistants.database.postgresql import open_postgresql
from heddle_assistants.database.rows import ReadRow
from heddle_assistants.database.sqlite import open_sqlite


class Database(Protocol):
    """A database, whichever it is.

    What cannot be done now but may be later (a lock that stays taken, a conflict of transactions, a
    server that went away) is an `UnavailableError`. A broken constraint is SQLAlchemy's
    `IntegrityError`. A block that opens another one holds two of few connections: do not.
    """

    name: str
    """Where it is, without a password."""

    def reading(self) -> AbstractAsyncContextManager[AsyncConnection]:
        """Yield a connection that sees one state of the database, and cannot change it."""

    def writing(self) -> AbstractAsyncContextManager[AsyncConnection]:
        """Yield a connection in a transaction that ends with the block.

        An exception takes everything back. Without one, all is on disk when the block is left.

        Raises:
            StorageError: The disk is full, or the file was removed or replaced.
        """

    async def check(self) -> None:
        """Check that the database can be read and written.

        Raises:
            HeddleError: It cannot. The diagnosis names the cause and the remedy.
        """

    async def forget_deleted(self) -> None:
        """Leave nothing of what was deleted in the files, where the database is a file.

        Raises:
            UnavailableError: Others use the database all the time. Nothing is lost.
        """

    def row_reader(self, query: Select[*tuple[Any, ...]]) -> ReadRow:
        """Return a function that reads one row at the driver's own price.

        `query` has one `bindparam` for each value. Prepare it once, where the service is put
        together.
        """


@asynccontextmanager
async def open_database(url: str) -> AsyncGenerator[Database]:
    """Open `sqlite:///PATH` or `postgresql://USER:PASSWORD@HOST:PORT/NAME` until the block is left.

    Raises:
        ValueError: The URL cannot be read.
        UnusableDatabaseError: The database cannot be reached, or is none.
    """
    address = parse(url)
    if isinstance(address, SqliteAddress):
        async with open_sqlite(address.path) as sqlite:
            yield sqlite
    else:
        async with open_postgresql(address) as postgresql:
            yield postgresql
