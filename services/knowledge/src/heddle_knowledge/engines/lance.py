"""LanceDB, in a folder of this machine or in an object store.

In a folder, writers of all processes take turns by the locks of files, and what is committed is
flushed. An object store has neither locks nor a cache to flush: commits are optimistic there, and
whoever loses the race tries again.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import lancedb
import pyarrow as pa
from lancedb.db import AsyncConnection
from lancedb.index import BTree, LabelList
from lancedb.table import AsyncTable

from heddle_knowledge.engines.file_locks import TableFileLocks
from heddle_knowledge.engines.interface import KEY, Layout
from heddle_knowledge.engines.lance_table import LanceTable, words_index
from heddle_knowledge.engines.locks import Locks
from heddle_knowledge.engines.released_memory import map_large_blocks
from heddle_knowledge.errors import StorageError

# Descriptions of files, of each version of a table: they would fill a gigabyte. LanceDB counts a
# third of what it stores, and reads from the disk what is not there.
_METADATA_CACHE_BYTES = 4 * 1024**2
_KEY_MARK = "lance-schema:unenforced-primary-key"
# Every read looks for commits of other processes first; that costs a third of a millisecond.
_AT_ONCE = timedelta(0)
# A table without a record that is older than this is left by a crash, not just being made.
_SETTLED = timedelta(hours=1)


@asynccontextmanager
async def open_folder(folder: Path) -> AsyncGenerator["LanceEngine"]:
    """Open the tables of a folder, which is made if it is missing.

    Raises:
        StorageError: It cannot be made or written.
    """
    locks = folder / "locks"
    try:
        await asyncio.to_thread(locks.mkdir, parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            "The directory of the knowledge store cannot be made or written. Check its path and "
            "permissions."
        ) from error
    # The URI is absolute, for LanceDB takes some relative ones for addresses of its cloud.
    async with _connected(str(folder), {}, TableFileLocks(folder, locks), folder) as engine:
        yield engine


@asynccontextmanager
async def open_bucket(url: str, options: Mapping[str, str]) -> AsyncGenerator["LanceEngine"]:
    """Open the tables of `s3://BUCKET/PREFIX`.

    Raises:
        StorageError: It cannot be reached.
    """
    async with _connected(url, options, Locks()) as engine:
        yield engine


@asynccontextmanager
async def _connected(
    uri: str, options: Mapping[str, str], locks: Locks, folder: Path | None = None
) -> AsyncGenerator["LanceEngine"]:
    map_large_blocks()

    async def connect() -> AsyncConnection:
        return await lancedb.connect_async(
            uri,
            read_consistency_interval=_AT_ONCE,
            storage_options=dict(options),
            session=lancedb.Session(metadata_cache_size_bytes=_METADATA_CACHE_BYTES),
        )

    try:
        engine = LanceEngine(await connect(), connect, locks, folder)
    except (RuntimeError, ValueError, OSError) as error:
        raise StorageError(
            "The object store of the knowledge store cannot be opened. Check its address and the "
            "storage options."
        ) from error
    try:
        yield engine
    finally:
        engine.close()


class LanceEngine:
    """Tables of LanceDB. Made by `open_folder` and `open_bucket`."""

    name = "lancedb"
    failures: tuple[type[Exception], ...] = (RuntimeError, ValueError, OSError)

    def __init__(
        self,
        database: AsyncConnection,
        connect: Callable[[], Awaitable[AsyncConnection]],
        locks: Locks,
        folder: Path | None = None,
    ) -> None:
        self._folder = folder
        self._database = database
        self._connect = connect
        self.locks = locks

    async def names(self) -> list[str]:
        """Return the names of the tables."""
        tables: list[str] = []
        token: str | None = None
        while True:
            page = await self._database.list_tables(page_token=token)
            tables += page.tables
            token = page.page_token
            if not token:
                return tables

    async def make(self, name: str, layout: Layout) -> LanceTable:
        """Create an empty table with its indexes, on disk.

        They exist from the start: rows that the index of words does not hold yet are searched all
        the same, but without any index there is no search by words.
        """
        async with self.locks.committing(name):
            table = await self._database.create_table(name, schema=_keyed(layout))
            await _index(table, layout)
        return self._table(table, name, layout)

    async def open(self, name: str, layout: Layout) -> LanceTable:
        """Open a table."""
        return self._table(await self._database.open_table(name), name, layout)

    async def scan(self, name: str, layout: Layout, size: int) -> AsyncIterator[pa.Table]:
        """Yield all rows of a table as of one moment, in the order of its keys.

        The files of that moment stay while the caller holds the lock of the table's compaction.
        """
        opened = await self._database.open_table(name)
        await opened.checkout(await opened.version())
        table = self._table(opened, name, layout)
        places = await table.rows([*layout.keys, KEY], order_by=layout.keys)
        keys = places.column(KEY).to_pylist()
        for start in range(0, len(keys), size):
            rows = await table.at(keys[start : start + size], layout.schema.names)
            ordered = rows.sort_by([(key, "ascending") for key in layout.keys])
            yield ordered.select(layout.schema.names)
        table.close()

    async def drop(self, name: str) -> None:
        """Remove a table with its rows, if it is there."""
        await self._database.drop_table(name, ignore_missing=True)

    async def rest(self) -> None:
        """Give back the memory of what it has read.

        A session caches indexes, those of earlier versions too, up to 6 GB. It ends with the last
        table that was opened with it.
        """
        self._database = await self._connect()

    def close(self) -> None:
        """Close the connection."""
        self._database.close()  # type: ignore[no-untyped-call]  # no annotations there

    async def left_over(self, name: str) -> bool:
        """Return whether a table without a record is certainly no part of work in progress."""
        if self.locks.excludes_all:
            return True  # whoever makes one holds the lock that the caller holds
        try:
            table = await self._database.open_table(name)
            versions = await table.list_versions()  # type: ignore[no-untyped-call]  # no annotations there
        except self.failures:
            return False  # somebody else drops it
        created_at = versions[-1]["timestamp"].astimezone(UTC)
        return bool(datetime.now(UTC) - created_at > _SETTLED)

    def _table(self, opened: AsyncTable, name: str, layout: Layout) -> LanceTable:
        committing = partial(self.locks.committing, name)
        commits = self._folder / f"{name}.lance" / "_versions" if self._folder else None
        return LanceTable(
            opened,
            layout,
            alone=self.locks.excludes_all,
            committing=committing,
            commits=commits,
        )


async def _index(table: AsyncTable, layout: Layout) -> None:
    if layout.words:
        await table.create_index(layout.words, config=words_index(layout.language))
    for column in (*layout.keys[:1], *layout.chosen):
        listed = layout.schema.field(column).type.num_fields
        await table.create_index(column, config=LabelList() if listed else BTree())


def _keyed(layout: Layout) -> pa.Schema:
    """Return the schema, with the keys named to Lance.

    Without that it takes two merges that both bring in a key for merges that do not meet, and both
    rows stay: where no lock excludes one of them, a document would be there twice.
    """
    schema = layout.schema
    for position, name in enumerate(layout.keys, start=1):
        at = schema.get_field_index(name)
        marks = {_KEY_MARK: "true", f"{_KEY_MARK}:position": str(position)}
        schema = schema.set(at, schema.field(at).with_metadata(marks))
    return schema
