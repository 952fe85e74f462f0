"""The interface between the knowledge store and its storage engines.

Rows travel as Arrow tables. Every method may raise one of the engine's `failures`; a commit that
fails has changed nothing.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from heddle_knowledge.embedders.embedding import Vectors
from heddle_knowledge.engines.conditions import EVERYTHING, Condition
from heddle_knowledge.engines.languages import ENGLISH
from heddle_knowledge.engines.locks import Locks

KEY = "_rowid"
"""A column that every table has by itself, int64: where a row is, until the next commit."""
DISTANCE = "_distance"
"""The column that `Table.nearest` adds: 1 minus the cosine."""
SCORE = "_score"
"""The column that `Table.matching` adds: BM25, comparable within one answer."""
VERSION_SECONDS = 120.0
"""Longer than any query runs, so that no reader of an earlier version loses its files."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of a kind of table.

    Attributes:
        kind: `[a-z]+`. A collection has one table of a kind, named `KIND_ID`.
        schema: Its columns: texts, integers, floats, bytes, lists of texts, and vectors as lists
            of float32 of one length.
        keys: The columns that tell its rows apart; none is nullable.
        words: The column of texts that is searched by words, if there is one.
        vector: The column that is searched by meaning, if there is one.
        chosen: Columns that conditions often name.
        language: What the words of a new table are cut as, see `languages`.
    """

    kind: str
    schema: pa.Schema
    keys: tuple[str, ...]
    words: str = ""
    vector: str = ""
    chosen: tuple[str, ...] = ()
    language: str = ENGLISH


class Table(Protocol):
    """An open table. Every read sees the latest commit of any process, whole."""

    async def version(self) -> int:
        """Return a number that changes with every commit."""

    async def count(self, where: Condition = EVERYTHING) -> int:
        """Count rows."""

    async def rows(
        self,
        columns: Sequence[str],
        where: Condition = EVERYTHING,
        *,
        order_by: Sequence[str] = (),
        limit: int | None = None,
    ) -> pa.Table:
        """Read rows, in the order of columns; texts are ordered by their UTF-8 bytes."""

    async def nearest(
        self, vector: Vectors, columns: Sequence[str], where: Condition, limit: int
    ) -> pa.Table:
        """Find the `limit` nearest rows of those that match, however few of all these are."""

    async def matching(
        self, words: str, columns: Sequence[str], where: Condition, limit: int
    ) -> pa.Table:
        """Find the `limit` rows of those that match whose words fit best; at least one must."""

    async def append(self, rows: pa.Table) -> None:
        """Add rows, in one commit."""

    async def replace(self, where: Condition, rows: pa.Table) -> bool:
        """Put rows in the place of all that match, in one commit; say whether any did.

        The new rows match, too.
        """

    async def update(self, values: Mapping[str, object], where: Condition) -> int:
        """Change columns of all rows that match, in one commit; return how many they are."""

    async def delete(self, where: Condition) -> None:
        """Delete all rows that match, in one commit."""

    async def optimize(
        self, language: str, ann_rows: int, version_seconds: float = VERSION_SECONDS
    ) -> None:
        """Update its indexes and compact its files, in commits.

        Searches go on meanwhile, or wait for a new full-text index.

        Args:
            language: How words are cut; an index of another language is made anew.
            ann_rows: From how many rows on an approximate vector index pays; below, an exact scan
                is faster and finds everything.
            version_seconds: How long files of earlier versions stay for those who read them.
        """

    async def purge(self, version_seconds: float) -> None:
        """Rewrite all rows, so that files of the latest version contain nothing of deleted rows.

        Args:
            version_seconds: How long files of earlier versions stay, see `optimize`.
        """

    def close(self) -> None:
        """Let go of it."""


class Engine(Protocol):
    """Stores tables, each under a name of its own: `KIND`, or `KIND_` and 32 hexadecimal digits."""

    name: str
    """The name in metrics and traces."""
    failures: tuple[type[Exception], ...]
    """The exceptions that the engine raises if an operation fails."""

    @property
    def locks(self) -> Locks:
        """Exclude others who use the store, in other processes too, where the engine can."""

    async def names(self) -> list[str]:
        """Return the names of the tables."""

    async def make(self, name: str, layout: Layout) -> Table:
        """Create an empty table."""

    async def open(self, name: str, layout: Layout) -> Table:
        """Open a table."""

    def scan(self, name: str, layout: Layout, size: int) -> AsyncIterator[pa.Table]:
        """Yield all rows of a table as of one moment, in the order of its keys, so many a time."""

    async def drop(self, name: str) -> None:
        """Remove a table with its rows, if it is there."""

    async def rest(self) -> None:
        """Give back the memory of what it has read. Open tables go on, and hold what they need."""

    async def left_over(self, name: str) -> bool:
        """Return whether a table without a record is certainly no part of work in progress."""
