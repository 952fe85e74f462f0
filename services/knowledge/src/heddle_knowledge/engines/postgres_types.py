"""The tables of PostgreSQL for a layout, and Arrow tables as their rows."""

from collections.abc import Iterator, Sequence
from typing import Any

import asyncpg
import numpy as np
import pyarrow as pa

from heddle_knowledge.embedders.embedding import Vectors
from heddle_knowledge.engines.interface import KEY, Layout
from heddle_knowledge.engines.postgres_full_text import WORDS, parsed

_TYPES = {
    pa.string(): 'text COLLATE "C"',
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.float32(): "real",
    pa.float64(): "double precision",
    pa.list_(pa.string()): "text[]",
}
_HEADER = np.dtype([("dim", ">i2"), ("unused", ">i2")])


def column_type(field: pa.Field) -> str:
    """Return the SQL type of a column.

    Raises:
        TypeError: There is none; keep the values as bytes.
    """
    if pa.types.is_fixed_size_list(field.type) and field.type.value_type == pa.float32():
        return f"vector({field.type.list_size})"
    try:
        return _TYPES[field.type]
    except KeyError:
        raise TypeError(f"no column {field.name!r} of type {field.type}") from None


def statements(name: str, layout: Layout) -> list[str]:
    """Return the statements that create a table with its indexes."""
    columns = [f"{KEY} bigint GENERATED ALWAYS AS IDENTITY UNIQUE"]
    columns += [
        f"{field.name} {column_type(field)}{'' if field.nullable else ' NOT NULL'}"
        for field in layout.schema
    ]
    if layout.words:
        columns.append(_words(layout.words, layout.language))
    columns.append(f"PRIMARY KEY ({', '.join(layout.keys)})")
    created = [f"CREATE TABLE {name} ({', '.join(columns)})"]
    if layout.words:
        created.append(_words_index(name))
    return [*created, *(_index(name, layout.schema.field(column)) for column in layout.chosen)]


def cut_anew(name: str, layout: Layout, language: str) -> list[str]:
    """Return the statements that index the words of a table in another language."""
    return [
        f"ALTER TABLE {name} DROP COLUMN {WORDS}",  # its index goes with it
        f"ALTER TABLE {name} ADD COLUMN {_words(layout.words, language)}",
        _words_index(name),
    ]


def _words(column: str, language: str) -> str:
    return f"{WORDS} tsvector GENERATED ALWAYS AS ({parsed(column, language)}) STORED"


def _words_index(name: str) -> str:
    return f"CREATE INDEX {name}_words ON {name} USING gin ({WORDS})"


def _index(name: str, field: pa.Field) -> str:
    kind = "gin" if pa.types.is_list(field.type) else "btree"
    index = f"{name}_{field.name}"
    return f"CREATE INDEX {index} ON {name} USING {kind} ({field.name})"


async def prepare(connection: asyncpg.Connection, schema: str) -> None:
    """Teach a new connection what vectors are."""
    await connection.set_type_codec(
        "vector",
        schema=schema,
        encoder=_written,
        decoder=lambda it: np.frombuffer(it, ">f4", offset=_HEADER.itemsize).astype(np.float32),
        format="binary",
    )


def records(rows: pa.Table) -> Iterator[tuple[Any, ...]]:
    """Return rows as PostgreSQL takes them; it keeps no NUL in texts."""
    columns = [_column(column) for column in rows.columns]
    return zip(*columns, strict=True)


def table(fetched: Sequence[Any], schema: pa.Schema) -> pa.Table:
    """Return fetched rows as an Arrow table with the columns of a schema."""
    arrays = []
    for at, field in enumerate(schema):
        values = [record[at] for record in fetched]
        if pa.types.is_fixed_size_list(field.type):
            dim = field.type.list_size
            flat = np.concatenate(values) if values else np.empty(0, np.float32)
            arrays.append(pa.FixedSizeListArray.from_arrays(pa.array(flat, pa.float32()), dim))
        else:
            arrays.append(pa.array(values, field.type))
    return pa.table(arrays, schema=pa.schema(schema))


def _column(column: pa.ChunkedArray) -> Sequence[Any]:
    if pa.types.is_fixed_size_list(column.type):
        flat = column.combine_chunks().flatten().to_numpy(zero_copy_only=False)
        return list(flat.reshape(-1, column.type.list_size))
    values: list[Any] = column.to_pylist()
    return [_without_nul(value) for value in values]


def _without_nul(value: Any) -> Any:  # noqa: ANN401 - of any column
    if isinstance(value, str):
        return value.replace("\0", "\ufffd")
    return [_without_nul(each) for each in value] if isinstance(value, list) else value


def _written(vector: Vectors) -> bytes:
    header = np.array((len(vector), 0), dtype=_HEADER)
    return header.tobytes() + np.asarray(vector).astype(">f4").tobytes()
