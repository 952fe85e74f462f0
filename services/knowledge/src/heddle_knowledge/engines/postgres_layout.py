"""The tables of PostgreSQL for a layout."""

import pyarrow as pa

from heddle_knowledge.engines.interface import KEY, Layout
from heddle_knowledge.engines.postgres_full_text import WORDS, parsed
from heddle_knowledge.engines.postgres_types import column_type


def statements(name: str, layout: Layout) -> list[str]:
    """Return the statements that create a table with its indexes."""
    columns = [f"{KEY} bigint GENERATED ALWAYS AS IDENTITY UNIQUE", *map(_column, layout.schema)]
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


def _column(field: pa.Field) -> str:
    return f"{field.name} {column_type(field)}{'' if field.nullable else ' NOT NULL'}"


def _index(name: str, field: pa.Field) -> str:
    kind = "gin" if pa.types.is_list(field.type) else "btree"
    index = f"{name}_{field.name}"
    return f"CREATE INDEX {index} ON {name} USING {kind} ({field.name})"
