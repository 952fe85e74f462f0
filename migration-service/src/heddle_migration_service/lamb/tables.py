"""The tables of a LAMB database, whatever version of LAMB made them."""

from collections.abc import AsyncGenerator, Collection, Sequence
from pathlib import Path

import aiosqlite

from heddle_migration_service.lamb.errors import LambDatabaseError
from heddle_migration_service.lamb.values import LambRow, Value

BATCH = 500
"""Rows that are read and written together."""
_MAX_KEYS = 10_000
"""In one query: SQLite can be built with a limit of 32,766."""
_ASSISTANTS, _ORGANIZATIONS = "assistants", "organizations"
_ITS_OWN = "api_callback"  # which other tables of that ending do not have


class LambTables:
    """Reads rows. What a version of LAMB does not have, tables and columns, is empty."""

    def __init__(self, connection: aiosqlite.Connection, prefix: str) -> None:
        self._connection = connection
        self._prefix = prefix
        self._columns: dict[str, frozenset[str]] = {}

    async def columns(self, table: str) -> frozenset[str]:
        """Return the names of the columns, in small letters; none if there is no such table."""
        if table not in self._columns:
            query = f"PRAGMA table_info({self._quoted(table)})"
            column_rows = await self._connection.execute_fetchall(query)
            self._columns[table] = frozenset(row[1].decode().lower() for row in column_rows)
        return self._columns[table]

    async def names(self) -> list[str]:
        """Return the names of all tables of this installation of LAMB, without its prefix."""
        query = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
        rows = await self._connection.execute_fetchall(query)
        names = [row[0].decode() for row in rows]
        prefix = self._prefix.lower()
        return [
            name[len(prefix) :]
            for name in names
            if name.lower().startswith(prefix) and not name.startswith("sqlite_")
        ]

    async def count(self, table: str, column: str = "") -> int:
        """Return the number of rows; of those with a value if a column is given."""
        if not await self.columns(table):
            return 0
        counted = _list([column]) if column else "*"
        query = f"SELECT count({counted}) FROM {self._quoted(table)}"  # noqa: S608 - quoted names
        [row] = await self._connection.execute_fetchall(query)
        return int(row[0])

    async def batches(
        self, table: str, columns: Collection[str]
    ) -> AsyncGenerator[Sequence[LambRow]]:
        """Yield all rows, in the order of their ids."""
        names = await self._present(table, ("id", *columns))
        if not names:
            return
        query = f"{self._select(table, names)} ORDER BY {_list(names[:1])}"
        async with self._connection.execute(query) as cursor:
            while rows := await cursor.fetchmany(BATCH):
                yield [LambRow(dict(zip(names, row, strict=True))) for row in rows]

    async def tuples(
        self, table: str, columns: Collection[str]
    ) -> AsyncGenerator[tuple[list[str], Sequence[tuple[Value, ...]]]]:
        """Yield the names of the columns that there are, `id` first if it is one, and all rows."""
        names = await self._present(table, ("id", *columns))
        if not names:
            return
        async with self._connection.execute(self._select(table, names)) as cursor:
            while rows := await cursor.fetchmany(BATCH):
                yield names, [tuple(row) for row in rows]

    async def matching(
        self, table: str, column: str, keys: Collection[int | str], columns: Collection[str]
    ) -> list[LambRow]:
        """Return the rows whose `column` is one of `keys`; those of one key, the oldest first."""
        names = await self._present(table, (column, *columns))
        if column not in names:
            return []
        values, rows = tuple(keys), list[LambRow]()
        for start in range(0, len(values), _MAX_KEYS):
            part = values[start : start + _MAX_KEYS]
            marks = ", ".join("?" * len(part))
            where = f"WHERE {_list([column])} IN ({marks}) ORDER BY rowid"
            query = f"{self._select(table, names)} {where}"
            records = await self._connection.execute_fetchall(query, part)
            rows += [LambRow(dict(zip(names, row, strict=True))) for row in records]
        return rows

    async def counts(self, table: str, column: str, keys: Collection[int]) -> dict[int, int]:
        """Return the number of rows for each value of `column` that is one of `keys`."""
        if not await self._present(table, (column,)):
            return {}
        name, marks = _list([column]), ", ".join("?" * len(keys))
        query = (
            f"SELECT {name}, count(*) FROM {self._quoted(table)} "  # noqa: S608 - quoted names
            f"WHERE {name} IN ({marks}) GROUP BY {name}"
        )
        rows = await self._connection.execute_fetchall(query, tuple(keys))
        return {int(key): int(count) for key, count in rows}

    async def dangling(
        self, table: str, column: str, target: str, columns: Collection[str]
    ) -> list[LambRow]:
        """Return rows whose `column` is no id of the table `target`; not more than a batch."""
        names = await self._present(table, (column, *columns))
        if column not in names:
            return []
        where = f"WHERE {_list([column])} NOT IN (SELECT id FROM {self._quoted(target)})"  # noqa: S608 - quoted names
        query = f"{self._select(table, names)} {where} ORDER BY rowid LIMIT {BATCH}"
        rows = await self._connection.execute_fetchall(query)
        return [LambRow(dict(zip(names, row, strict=True))) for row in rows]

    async def _present(self, table: str, columns: Collection[str]) -> list[str]:
        there = await self.columns(table)
        return [name for name in columns if name.lower() in there]

    def _select(self, table: str, names: Collection[str]) -> str:
        return f"SELECT {_list(names)} FROM {self._quoted(table)}"  # noqa: S608 - quoted names

    def _quoted(self, table: str) -> str:
        return _list([self._prefix + table])


async def lamb_tables(
    connection: aiosqlite.Connection, path: Path, prefix: str | None
) -> LambTables:
    """Return the tables whose names begin with `prefix`; if it is None, with whatever theirs do.

    Raises:
        LambDatabaseError: There are none, or more than one set.
    """
    prefixes = await _prefixes(connection)
    if prefix is None and len(prefixes) > 1:  # an upgrade or a backup may leave a copy of a table
        whole = [it for it in prefixes if await LambTables(connection, it).columns(_ORGANIZATIONS)]
        prefixes = whole if len(whole) == 1 else prefixes
    if prefix is None and len(prefixes) == 1:
        return LambTables(connection, prefixes[0])
    if prefix is not None and prefix.lower() in (each.lower() for each in prefixes):
        return LambTables(connection, prefix)
    there = ", ".join(repr(each + _ASSISTANTS) for each in prefixes) or "nothing like it"
    looked = "one table of assistants" if prefix is None else f"a table {prefix + _ASSISTANTS!r}"
    raise LambDatabaseError(
        f"Heddle looks for {looked} in the LAMB database {path} and finds {there}. Set "
        "HEDDLE_MIGRATION_LAMB_PREFIX to the LAMB_DB_PREFIX that LAMB runs with."
    )


async def _prefixes(connection: aiosqlite.Connection) -> list[str]:
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE ? ORDER BY name"
    rows = await connection.execute_fetchall(query, ("%" + _ASSISTANTS,))
    prefixes = [row[0].decode()[: -len(_ASSISTANTS)] for row in rows]
    return [
        prefix
        for prefix in prefixes
        if _ITS_OWN in await LambTables(connection, prefix).columns(_ASSISTANTS)
    ]


def _list(names: Collection[str]) -> str:
    return ", ".join('"' + name.replace('"', '""') + '"' for name in names)
