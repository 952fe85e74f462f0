"""Capability: queries over what is known about documents."""

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
    """The query as it was understood, with its limit."""
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    truncated: bool
    """Whether there are more rows, or longer texts."""


class DocumentTables(Protocol):
    """What was known about documents at one moment."""

    @property
    def documents(self) -> int:
        """How many there are."""

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables that can be asked, with examples: `documents`, and `metadata`."""

    @property
    def failures(self) -> tuple[FailedSearch, ...]:
        """The collections that were not read."""

    async def select(self, sql: str, *, max_rows: int) -> Rows:
        """Return what a query finds.

        Args:
            sql: One SELECT statement for SQLite, whoever wrote it: nothing else is run, and it
                sees nothing but `tables`.
            max_rows: Limits the rows.

        Raises:
            ToolError: The query is wrong, not allowed, or takes too long or too much, with the
                kind `refused_query`. The message helps to write a better one.
        """


class DocumentQueries(Protocol):
    """What is known about the documents that the assistant may search, apart from their text."""

    async def open(self, collections: Sequence[str]) -> DocumentTables:
        """Read what is known now about the documents of `collections`.

        A collection that cannot be read is told, not raised.

        Raises:
            ToolError: There is too much.
        """
