"""Opens the tables at first need: in PostgreSQL if the collections are there, otherwise a file."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from heddle_runtime.errors import StorageError, UnavailableError
from heddle_runtime.storage.database.engine import Database, open_database
from heddle_runtime.storage.database.failures import UnusableDatabaseError
from heddle_runtime.storage.database.upgrading import upgrade
from heddle_runtime.storage.failures import storage_error
from sqlalchemy import Row, Select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_knowledge.database.schema import SCHEMA
from heddle_knowledge.engines.address import is_database

FILE = "knowledge.db"
NAMESPACE = "heddle_knowledge"
"""The schema of PostgreSQL, in which the collections are, too."""


class KnowledgeDatabase:
    """A database that is opened at first need, so that a service starts before its server.

    All methods raise `StorageError` if the database cannot be reached or refuses.
    """

    def __init__(self, place: str, folder: Path, file: str = FILE) -> None:
        """Prepare.

        Args:
            place: Where the collections are; see `engines.address`.
            folder: For the file, unless the collections are in PostgreSQL.
            file: Its name.
        """
        self.shared = is_database(place)
        self._path = folder.absolute() / file
        self._url = place if self.shared else f"sqlite:///{quote(str(self._path))}"
        self._opening = asyncio.Lock()
        self._database: Database | None = None
        self._resources = AsyncExitStack()

    def exists(self) -> bool:
        """Return whether there may be rows, without making a file."""
        return self.shared or self._path.exists()

    @asynccontextmanager
    async def reading(self) -> AsyncGenerator[AsyncConnection]:
        """Yield a connection that sees one state of the database, and cannot change it."""
        with _translated():
            async with (await self._opened()).reading() as connection:
                yield connection

    @asynccontextmanager
    async def writing(self) -> AsyncGenerator[AsyncConnection]:
        """Yield a connection in a transaction that is on disk when the block ends."""
        with _translated():
            async with (await self._opened()).writing() as connection:
                yield connection

    async def rows(self, query: Select[*tuple[Any, ...]]) -> Sequence[Row[*tuple[Any, ...]]]:
        """Return the rows of a query; none, and no file, before anything was written."""
        if not self.exists():
            return []
        async with self.reading() as connection:
            return (await connection.execute(query)).all()

    async def clean_up(self) -> None:
        """Leave nothing of deleted rows in files, those of collections in PostgreSQL included."""
        with _translated():
            await (await self._opened()).clean_up()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._resources.aclose()

    async def _opened(self) -> Database:
        if self._database is None:
            async with self._opening:
                if self._database is None:
                    self._database = await self._open()
        return self._database

    async def _open(self) -> Database:
        async with AsyncExitStack() as resources:
            database = await resources.enter_async_context(open_database(self._url, NAMESPACE))
            await upgrade(database, SCHEMA)
            self._resources = resources.pop_all()
        return database


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except StorageError:
        raise
    except (UnavailableError, UnusableDatabaseError, SQLAlchemyError, ValueError) as error:
        cause = error.message if isinstance(error, UnavailableError) else type(error).__name__
        cause = str(error) if isinstance(error, UnusableDatabaseError) else cause
        raise storage_error(
            f"The database of the knowledge service fails: {cause}. Check its disk, or "
            "HEDDLE_KNOWLEDGE_STORE_URL and the log of the database."
        ) from error
