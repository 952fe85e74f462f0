"""Capability: SQL queries over the metadata of documents."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from heddle.knowledge.v1.knowledge_pb2 import Cell, Column, Table

from heddle_tools_service.capabilities.passages import FailedSearch

__all__ = ["Column", "DocumentQueries", "DocumentTables", "Rows", "Table", "Value", "value_of"]


Value = str | int | float | None


def value_of(cell: Cell) -> Value:
    """Return the value of a cell; None for NULL."""
    kind = cell.WhichOneof("value")
    value: Value = getattr(cell, kind) if kind else None
    return value


@dataclass(frozen=True, slots=True)
class Rows:
    """The answer to a query."""

    sql: str
    """The query that was run, with its limit of rows."""
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    truncated: bool
    """Whether there are more rows, or longer texts."""


@dataclass(frozen=True, slots=True)
class DocumentTables:
    """The tables that describe documents."""

    documents: int
    """The number of documents."""
    tables: tuple[Table, ...]
    """The tables that can be queried, with examples: `documents` and `metadata`."""
    failures: tuple[FailedSearch, ...]
    """The collections that were not read."""


class DocumentQueries(Protocol):
    """Queries over the metadata of the documents that the assistant may search."""

    async def describe(self, collections: Sequence[str]) -> DocumentTables:
        """Return the tables that describe the documents of `collections`.

        A collection that cannot be read is listed in `failures`.

        Raises:
            ToolError: The service refuses, for example because there are too many documents.
        """

    async def select(self, collections: Sequence[str], sql: str, *, max_rows: int) -> Rows:
        """Run a query over the documents of `collections` and return its rows.

        Args:
            collections: Their names.
            sql: One SELECT statement for SQLite, even one that a model wrote: no other statement
                is run, and it can read the tables of `describe` only.
            max_rows: Limits the rows.

        Raises:
            ToolError: The query is wrong, not allowed, or takes too long or too much, with the
                kind `refused_query`. The message helps to write a better one.
        """
