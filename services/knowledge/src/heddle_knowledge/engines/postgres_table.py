"""A table of PostgreSQL: every commit is a transaction, every read one statement."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager

import asyncpg
import pyarrow as pa
from asyncpg.pool import PoolConnectionProxy

from heddle_knowledge.embedders.embedding import Vectors
from heddle_knowledge.engines.conditions import EVERYTHING, Condition
from heddle_knowledge.engines.interface import DISTANCE, KEY, SCORE, VERSION_SECONDS, Layout
from heddle_knowledge.engines.postgres_full_text import words_sql
from heddle_knowledge.engines.postgres_sql import Parameters, where_sql
from heddle_knowledge.engines.postgres_types import cut_anew, records, table

# pgvector gives at most as many rows as it looks at, and looks at most at 1,000.
_EF = 200
_MOST_EF = 1_000
_INDEX_MEMORY = "512MB"
"""While an index of vectors is made: what does not fit is added row by row, many times slower."""


class PostgresTable:
    """See `interface.Table`."""

    def __init__(self, pool: asyncpg.Pool, name: str, layout: Layout) -> None:
        self._pool = pool
        self._name = name
        self._layout = layout
        self._index = f"{name}_vectors"

    async def version(self) -> int:
        """Return the number of its latest commit."""
        version = await self._pool.fetchval(
            "SELECT version FROM tables WHERE name = $1", self._name
        )
        if version is None:
            raise asyncpg.UndefinedTableError(self._name)
        return int(version)

    async def count(self, where: Condition = EVERYTHING) -> int:
        """Count rows."""
        values = Parameters()
        chosen = where_sql(where, values)
        statement = f"SELECT count(*) FROM {self._name} WHERE {chosen}"  # noqa: S608 - only names of ours
        return int(await self._pool.fetchval(statement, *values.values))

    async def rows(
        self,
        columns: Sequence[str],
        where: Condition = EVERYTHING,
        *,
        order_by: Sequence[str] = (),
        limit: int | None = None,
    ) -> pa.Table:
        """Read rows, in the order of columns."""
        values = Parameters()
        order = ", ".join(order_by or [KEY])
        end = "" if limit is None else f" LIMIT {values.add(limit)}::bigint"
        statement = f"{self._selected(columns, where, values)} ORDER BY {order}{end}"
        records = await self._pool.fetch(statement, *values.values)
        return table(records, self._schema(columns))

    async def nearest(
        self, vector: Vectors, columns: Sequence[str], where: Condition, limit: int
    ) -> pa.Table:
        """Find the nearest rows of those that match.

        Conditions are applied to what the index of vectors finds; if that leaves too few, all rows
        that match are compared one by one.
        """
        values = Parameters(vector)
        distance = f"{self._layout.vector} <=> $1"
        selected = self._selected(columns, where, values, f", {distance} AS {DISTANCE}")
        statement = f"{selected} ORDER BY {distance} LIMIT {values.add(limit)}::bigint"
        ef = min(_MOST_EF, max(_EF, 2 * limit))
        async with self._pool.acquire() as connection, connection.transaction(readonly=True):
            await connection.execute(f"SET LOCAL hnsw.ef_search = {ef}")
            records = await connection.fetch(statement, *values.values)
            if len(records) < limit:
                await connection.execute("SET LOCAL enable_indexscan = off")
                records = await connection.fetch(statement, *values.values)
        return table(records, self._schema(columns, DISTANCE))

    async def matching(
        self, words: str, columns: Sequence[str], where: Condition, limit: int
    ) -> pa.Table:
        """Find the rows of those that match whose words fit best; see `postgres_words`."""
        values = Parameters(words.replace("\0", " "))
        chosen = where_sql(where, values)
        end = values.add(limit)
        statement = words_sql(self._name, await self._language(), columns, chosen, end)
        records = await self._pool.fetch(statement, *values.values)
        return table(records, self._schema(columns, SCORE))

    async def append(self, rows: pa.Table) -> None:
        """Add rows, in one commit."""
        async with self._committing() as connection:
            await self._insert(connection, rows)

    async def replace(self, where: Condition, rows: pa.Table) -> bool:
        """Put rows in the place of all that match, in one commit; say whether any did."""
        values = Parameters()
        chosen = where_sql(where, values)
        statement = f"DELETE FROM {self._name} WHERE {chosen}"  # noqa: S608 - only names of ours
        async with self._committing() as connection:
            done = await connection.execute(statement, *values.values)
            await self._insert(connection, rows)
        return _count(done) > 0

    async def update(self, values: Mapping[str, object], where: Condition) -> int:
        """Change columns of all rows that match, in one commit; return how many they are."""
        parameters = Parameters()
        changes = ", ".join(
            f"{column} = {parameters.add(value)}" for column, value in values.items()
        )
        chosen = where_sql(where, parameters)
        statement = f"UPDATE {self._name} SET {changes} WHERE {chosen}"  # noqa: S608 - only names of ours
        async with self._committing() as connection:
            return _count(await connection.execute(statement, *parameters.values))

    async def delete(self, where: Condition) -> None:
        """Delete all rows that match, in one commit."""
        values = Parameters()
        chosen = where_sql(where, values)
        statement = f"DELETE FROM {self._name} WHERE {chosen}"  # noqa: S608 - only names of ours
        async with self._committing() as connection:
            await connection.execute(statement, *values.values)

    async def optimize(
        self, language: str, ann_rows: int, version_seconds: float = VERSION_SECONDS
    ) -> None:
        """Create missing indexes, and update the statistics of the planner.

        The server keeps indexes up to date; its autovacuum does the rest.
        """
        if await self._language() != language:
            await self._index_words(language)
        if await self.count() >= ann_rows and not await self.has_vector_index():
            await self._index_vectors()
        await self._pool.execute(f"ANALYZE {self._name}")

    async def purge(self, version_seconds: float) -> None:
        """Do nothing: `KnowledgeDatabase.clean_up` removes former rows of all tables."""

    async def has_vector_index(self) -> bool:
        """Return whether it has a complete index of vectors."""
        statement = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)"
        return bool(await self._pool.fetchval(statement, self._index))

    def close(self) -> None:
        """Do nothing: its connections are the engine's."""

    async def _index_vectors(self) -> None:
        async with self._pool.acquire() as connection:  # which resets the settings afterwards
            await connection.execute(f"SET maintenance_work_mem = '{_INDEX_MEMORY}'")
            # Several workers would need that much in /dev/shm, and a container has 64 MB of it.
            await connection.execute("SET max_parallel_maintenance_workers = 0")
            # There may be one that was interrupted.
            await connection.execute(f"DROP INDEX IF EXISTS {self._index}")
            await connection.execute(
                f"CREATE INDEX CONCURRENTLY {self._index} ON {self._name} "
                f"USING hnsw ({self._layout.vector} vector_cosine_ops)"
            )

    async def _index_words(self, language: str) -> None:
        """Cut its words as another language does; who reads or writes the table waits."""
        async with self._committing() as connection:
            for statement in cut_anew(self._name, self._layout, language):
                await connection.execute(statement)
            await connection.execute(
                "UPDATE tables SET language = $2 WHERE name = $1", self._name, language
            )

    async def _language(self) -> str:
        statement = "SELECT language FROM tables WHERE name = $1"
        return str(await self._pool.fetchval(statement, self._name))

    def _selected(
        self, columns: Sequence[str], where: Condition, values: Parameters, more: str = ""
    ) -> str:
        chosen = where_sql(where, values)
        return f"SELECT {', '.join(columns)}{more} FROM {self._name} WHERE {chosen}"  # noqa: S608 - only names of ours

    def _schema(self, columns: Sequence[str], *numbers: str) -> pa.Schema:
        fields = [
            pa.field(KEY, pa.int64()) if name == KEY else self._layout.schema.field(name)
            for name in columns
        ]
        return pa.schema([*fields, *(pa.field(name, pa.float32()) for name in numbers)])

    async def _insert(
        self, connection: "PoolConnectionProxy[asyncpg.Record]", rows: pa.Table
    ) -> None:
        await connection.copy_records_to_table(
            self._name, records=records(rows), columns=rows.column_names
        )

    @asynccontextmanager
    async def _committing(self) -> "AsyncGenerator[PoolConnectionProxy[asyncpg.Record]]":
        """Open a transaction, one at a time for a table, that raises its version."""
        async with self._pool.acquire() as connection, connection.transaction():
            await connection.execute(
                "UPDATE tables SET version = version + 1 WHERE name = $1", self._name
            )
            yield connection


def _count(done: str) -> int:
    """Read how many rows a command touched, as in `DELETE 3`."""
    return int(done.rpartition(" ")[2])
