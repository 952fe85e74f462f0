"""Reads one row by its key with the bare driver.

SQLAlchemy's pools, transactions and results cost several times as much as the database's work.
Here a query is compiled once; a read hands the driver a text and values, and nothing else.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select
from sqlalchemy.engine import Dialect

from heddle_runtime.storage.database.columns import Processor

Row = tuple[Any, ...]
ReadRow = Callable[..., Awaitable[Row | None]]
"""Takes the values of the query's parameters in the order of their places; returns the
values of its columns."""


@dataclass(frozen=True, slots=True)
class RowQuery:
    """A compiled query for one row, in the SQL of a driver."""

    text: str
    processors: Sequence[tuple[int, Processor]]
    """For the columns whose stored value is not yet the one that SQLAlchemy would return."""

    def row(self, values: Iterable[Any]) -> Row:
        """Return the row that the driver read, as SQLAlchemy would."""
        if not self.processors:
            return tuple(values)
        row = list(values)
        for index, process in self.processors:
            row[index] = process(row[index])
        return tuple(row)


def row_query(query: Select[*tuple[Any, ...]], dialect: Dialect) -> RowQuery:
    """Compile a query; each of its parameters may stand in one place."""
    parameters = [
        (index, column.type.dialect_impl(dialect).result_processor(dialect, None))
        for index, column in enumerate(query.selected_columns)
    ]
    return RowQuery(str(query.compile(dialect=dialect)), [(i, p) for i, p in parameters if p])
