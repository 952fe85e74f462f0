"""Converts rows to versions: compressed JSON of the members that can change."""

import json
import zlib

from heddle_conversion import dump

from heddle_assistants.database.assistant_row import Row

_NOT_STORED = {"id", "organization", "created_at", "updated_at", "revision", "deleted_at"}
_COLUMNS = [name for name in Row._fields if name not in _NOT_STORED]


def snapshot(row: Row) -> bytes:
    """Return the document of a version of a row."""
    values = ((name, getattr(row, name)) for name in _COLUMNS)
    return zlib.compress(
        dump({name: value for name, value in values if value is not None}).encode()
    )


def row_of_snapshot(row: Row, document: bytes) -> Row:
    """Return a row as it was in a version; `row` is what it is now."""
    values = json.loads(zlib.decompress(document))
    values.setdefault("sharing", "")
    return row._replace(**{name: values.get(name) for name in _COLUMNS})
