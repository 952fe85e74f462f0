"""A table of LanceDB.

Every commit of a Lance table shows a reader all of its rows or none.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import KW_ONLY, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
from lancedb.index import FTS, BTree, IndexConfig, IvfSq, LabelList
from lancedb.query import ColumnOrdering, MatchQuery
from lancedb.table import AsyncTable

from heddle_knowledge.completed_changes import completed
from heddle_knowledge.embedders.embedding import Vectors
from heddle_knowledge.engines.conditions import EVERYTHING, Condition
from heddle_knowledge.engines.interface import DISTANCE, KEY, SCORE, VERSION_SECONDS, Layout
from heddle_knowledge.engines.lance_sql import where_sql
from heddle_knowledge.engines.languages import IN_PAIRS, STEMMED

ResultT = TypeVar("ResultT")

# Of an approximate index; without one they do nothing.
_PARTITIONS = 40
_REFINE = 2
# LanceDB adds a part with every optimisation, without end, and does not merge files of two parts;
# a search visits all parts. To make the index anew takes 1.4 s for 100,000 rows.
_MAX_PARTS = 10
_ATTEMPTS = 20
_LONGEST_PAUSE = 0.5
_SETTLED_NS = 2_000_000_000
"""The coarsest steps of the times of folders: FAT's."""
_PAIR = 2


@dataclass(eq=False, slots=True, weakref_slot=True)
class LanceTable:
    """See `interface.Table`.

    Args:
        opened: The table.
        layout: What its columns are.
        alone: Whoever writes is the only one to, in any process.
        committing: Excludes other writers, and sees what was committed onto the disk.
        commits: The folder that every commit adds a file to; None in an object store.
    """

    opened: AsyncTable
    layout: Layout
    _: KW_ONLY
    alone: bool
    committing: Callable[[], AbstractAsyncContextManager[None]]
    commits: Path | None = None
    _seen: tuple[int, int] = (0, 0)
    """The time of the folder of commits, in nanoseconds since 1970, and the version then."""

    async def version(self) -> int:
        """Return the number of its latest commit.

        LanceDB lists the folder of commits for that, a hundred times the work of asking for its
        time. A time counts once it is so old that no later commit can have the same.
        """
        if self.commits is None:
            return int(await self.opened.version())
        changed_at = self.commits.stat().st_mtime_ns
        if changed_at == self._seen[0]:
            return self._seen[1]
        is_settled = time.time_ns() - changed_at > _SETTLED_NS
        version = int(await self.opened.version())
        if is_settled:
            self._seen = changed_at, version
        return version

    async def count(self, where: Condition = EVERYTHING) -> int:
        """Count rows."""
        chosen = None if where == EVERYTHING else where_sql(where)
        return int(await self.opened.count_rows(chosen))

    async def rows(
        self,
        columns: Sequence[str],
        where: Condition = EVERYTHING,
        *,
        order_by: Sequence[str] = (),
        limit: int | None = None,
    ) -> pa.Table:
        """Read rows, in the order of columns."""
        query = _chosen(self.opened.query(), columns, where)
        if order_by:
            query = query.order_by([ColumnOrdering(column_name=name) for name in order_by])
        if limit is not None:
            query = query.limit(limit)
        return await query.to_arrow()

    async def nearest(
        self, vector: Vectors, columns: Sequence[str], where: Condition, limit: int
    ) -> pa.Table:
        """Find the nearest rows of those that match; the condition is applied first."""
        near = self.opened.query().nearest_to(vector).column(self.layout.vector)
        # More partitions are searched where a condition leaves too few rows in these.
        near = near.distance_type("cosine").maximum_nprobes(0).minimum_nprobes(_PARTITIONS)
        near = near.refine_factor(_REFINE)
        return await _chosen(near, [*columns, DISTANCE], where).limit(limit).to_arrow()

    async def matching(
        self, words: str, columns: Sequence[str], where: Condition, limit: int
    ) -> pa.Table:
        """Find the rows of those that match whose words fit best."""
        match_query = MatchQuery(words, self.layout.words)  # type: ignore[call-arg]  # the others have defaults
        fit = _chosen(self.opened.query().nearest_to_text(match_query), [*columns, SCORE], where)
        return await fit.limit(limit).to_arrow()

    async def at(self, keys: Sequence[int], columns: Sequence[str]) -> pa.Table:
        """Read rows by their places."""
        taken = self.opened.take_row_ids(list(keys)).with_row_id()
        return await taken.select([name for name in columns if name != KEY]).to_arrow()

    async def append(self, rows: pa.Table) -> None:
        """Add rows, in one commit."""
        await self._commit(lambda: self.opened.add(rows))

    async def replace(self, where: Condition, rows: pa.Table) -> bool:
        """Put rows in the place of all that match, in one commit; say whether any did."""
        if self.alone and not await self.count(where):
            await self.append(rows)  # a merge would read the keys of all rows that there are
            return False
        merge = (
            self.opened.merge_insert(list(self.layout.keys))
            .when_matched_update_all()
            .when_not_matched_insert_all()
            .when_not_matched_by_source_delete(where_sql(where))
        )
        result = await self._commit(lambda: merge.execute(rows))
        return bool(result.num_updated_rows or result.num_deleted_rows)

    async def update(self, values: Mapping[str, object], where: Condition) -> int:
        """Change columns of all rows that match, in one commit; return how many they are."""
        chosen = where_sql(where)
        result = await self._commit(lambda: self.opened.update(dict(values), where=chosen))
        return int(result.rows_updated)

    async def delete(self, where: Condition) -> None:
        """Delete all rows that match, in one commit."""
        await self._commit(lambda: self.opened.delete(where_sql(where)))

    async def optimize(
        self, language: str, ann_rows: int, version_seconds: float = VERSION_SECONDS
    ) -> None:
        """Index new rows, merge small files and remove old versions; writers wait meanwhile."""
        words, vector = self.layout.words, self.layout.vector
        async with self.committing():
            indexes = {
                column: index
                for index in await self.opened.list_indices()
                for column in index.columns
            }
            if not _is_of(indexes[words].index_details or {}, language):
                await self._index(words, words_index(language))
            if await self._are_vectors_due(indexes.get(vector), ann_rows):
                await self._index(vector, IvfSq(distance_type="cosine"))
            lifetime = timedelta(seconds=version_seconds)
            await self._commit(lambda: self.opened.optimize(cleanup_older_than=lifetime))

    async def purge(self, version_seconds: float) -> None:
        """Rewrite all rows and indexes, and remove the files of earlier versions."""
        key = self.layout.keys[0]
        async with self.committing():
            indexes = [*await self.opened.list_indices()]
            # A file is written anew only if many of its rows are gone, unless all of them change.
            await self._commit(lambda: self.opened.update(updates_sql={key: key}))
            for index in indexes:
                column = index.columns[0]
                if column == self.layout.words:
                    await self._index(column, words_index(self.layout.language))
                elif column == self.layout.vector:
                    await self._index(column, IvfSq(distance_type="cosine"))
                else:
                    is_list = self.layout.schema.field(column).type.num_fields
                    await self._index(column, LabelList() if is_list else BTree())
            lifetime = timedelta(seconds=version_seconds)
            for _ in range(2):  # the first may leave the version before its own
                await self._commit(
                    lambda: self.opened.optimize(
                        cleanup_older_than=lifetime, delete_unverified=self.alone
                    )
                )

    def close(self) -> None:
        """Let go of it."""
        self.opened.close()  # type: ignore[no-untyped-call]  # no annotations there

    async def _are_vectors_due(self, index: IndexConfig | None, ann_rows: int) -> bool:
        if index is None:
            return await self.count() >= max(1, ann_rows)
        stats = await self.opened.index_stats(index.name)
        return stats is not None and (stats.num_indices or 0) > _MAX_PARTS

    async def _index(self, column: str, config: FTS | IvfSq | BTree | LabelList) -> None:
        """Create an index in place of an earlier one, which serves meanwhile."""
        make: Any = self.opened.create_index  # its annotation omits IvfSq
        await self._commit(lambda: make(column, config=config, replace=True))

    async def _commit(self, act: Callable[[], Awaitable[ResultT]]) -> ResultT:
        """Commit. Repeat the commit if it loses a race that no lock has prevented.

        LanceDB works on threads of its own: cancelled, it might still write when a lock is free.
        """
        pause = 0.01
        for _ in range(_ATTEMPTS - 1):
            try:
                return await completed(act(), None)
            except (RuntimeError, ValueError, OSError) as error:
                if "conflict" not in str(error).lower():
                    raise
            await asyncio.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311 - no secret
            pause = min(pause * 2, _LONGEST_PAUSE)
        return await completed(act(), None)


def _chosen(query: Any, columns: Sequence[str], where: Condition) -> Any:  # noqa: ANN401 - LanceDB's builders share no type
    if where != EVERYTHING:
        query = query.where(where_sql(where))
    if KEY in columns:
        query = query.with_row_id()
    return query.select([name for name in columns if name != KEY])


def words_index(language: str) -> FTS:
    """Return the options of the index of words for a language; accents never count."""
    if language in STEMMED:  # its stop words are left out
        return FTS(language=STEMMED[language].capitalize())
    if language in IN_PAIRS:
        return FTS(
            base_tokenizer="ngram",
            ngram_min_length=_PAIR,
            ngram_max_length=_PAIR,
            stem=False,
            remove_stop_words=False,
        )
    return FTS(stem=False, remove_stop_words=False)


def _is_of(details: Mapping[str, object], language: str) -> bool:
    """Return whether an index of words, by its details from LanceDB, is for a language."""
    config = words_index(language)
    names = ("base_tokenizer", "language", "stem", "remove_stop_words")
    return all(details.get(name) == getattr(config, name) for name in names)
