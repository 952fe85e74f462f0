"""The tables of PostgreSQL for a layout."""

import asyncpg
import pyarrow as pa

from heddle_knowledge.engines.interface import KEY, Layout
from heddle_knowledge.engines.postgres_full_text import WORDS, parsed
from heddle_knowledge.engines.postgres_types import column_type


def statements(name: str, layout: Layout) -> list[str]:
    """Return what makes a table with its indexes."""
    columns = [f"{KEY} bigint GENERATED ALWAYS AS IDENTITY UNIQUE", *map(_column, layout.schema)]
    if layout.words:
        columns.append(_words(layout.words, layout.language))
    columns.append(f"PRIMARY KEY ({', '.join(layout.keys)})")
    made = [f"CREATE TABLE {name} ({', '.join(columns)})"]
    if layout.words:
        made.append(_words_index(name))
    return [*made, *(_index(name, layout.schema.field(column)) for column in layout.chosen)]


async def completed(pool: asyncpg.Pool, name: str, layout: Layout) -> list[str]:
    """Return what adds to a table the columns that it lacks."""
    found = await pool.fetch(
        "SELECT attname FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0", name
    )
    present = {row["attname"] for row in found}
    lacking = [field for field in layout.schema if field.name not in present]
    return [
        *(f"ALTER TABLE {name} ADD COLUMN IF NOT EXISTS {_column(field)}" for field in lacking),
        *(_index(name, field) for field in lacking if field.name in layout.chosen),
    ]


def cut_anew(name: str, layout: Layout, language: str) -> list[str]:
    """Return what makes the words of a table those of another language."""
    return [
        f"ALTER TABLE {name} DROP COLUMN {WORDS}",  # its index goes with it
        f"ALTER TABLE {name} ADD COLUMN {_words(layout.words, language)}",
        _words_index(name),
    ]


def _words(column: str, language: str) -> str:
    return f"{WORDS} tsvector GENERATED ALWAYS AS ({parsed(column, language)}) STORED"


def _words_index(name: str) -> str:
    return f"CREATE INDEX {name}_words ON {name} USING gin ({WORDS})"


def _column(field: pa.Field) -> str:
    return f"{field.name} {column_type(field)}{'' if field.nullable else ' NOT NULL'}"


def _index(name: str, field: pa.Field) -> str:
    kind = "gin" if pa.types.is_list(field.type) else "btree"
    made = f"{name}_{field.name}"
    return f"CREATE INDEX IF NOT EXISTS {made} ON {name} USING {kind} ({field.name})"
