"""The tables that documents make: one row a document, its most frequent metadata as columns.

A flat table is what small models ask best; whatever has no column is in the table `metadata`.
"""

import re
from collections import Counter
from collections.abc import Sequence

from heddle.knowledge.v1 import knowledge_pb2 as pb

from heddle_knowledge.document_queries.query_inputs import Fact, Value, cell_of

_MOST_KEYS = 30
_FEW_VALUES = 12
_EXAMPLES = 3
_LONGEST_EXAMPLE = 60
_MAX_INTEGER = 2**63 - 1  # of SQLite
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,40}")
_FIXED = (
    ("document_id", "TEXT", "identifies the document"),
    ("collection", "TEXT", "the collection that holds it"),
    ("document", "TEXT", "its name, usually a path"),
    ("title", "TEXT", "its title"),
    ("uri", "TEXT", "where people can read it"),
    ("media_type", "TEXT", "the IANA media type"),
    ("size", "INTEGER", "bytes"),
    ("passages", "INTEGER", "passages that it was cut into"),
    ("pages", "INTEGER", "pages; NULL if it has none"),
    ("document_time", "TEXT", "the time that it is of, UTC, YYYY-MM-DD HH:MM:SS"),
    ("ingested_at", "TEXT", "when it was ingested, UTC, YYYY-MM-DD HH:MM:SS"),
)
FIXED = tuple(name for name, _, _ in _FIXED)
"""The columns that every document has."""
_METADATA = (
    ("document_id", "TEXT", "of the table documents"),
    ("key", "TEXT", "the name of an attribute"),
    ("value", "TEXT", "its value"),
)


def tables_of(facts: Sequence[Fact]) -> tuple[pb.Table, pb.Table]:
    """Return the tables `documents` and `metadata` that some documents make, with examples."""
    fixed = tuple(
        _column(name, kind, meaning, [getattr(fact, name) for fact in facts])
        for name, kind, meaning in _FIXED
    )
    keys = Counter(key for fact in facts for key in fact.metadata)
    more = tuple(_attribute(key, facts) for key in _columns(keys))
    named = {"key": [*keys], "document_id": [], "value": []}
    pairs = tuple(_column(name, kind, meaning, named[name]) for name, kind, meaning in _METADATA)
    documents = pb.Table(name="documents", columns=fixed + more)
    return documents, pb.Table(name="metadata", columns=pairs)


def number_of(value: str) -> int | float | None:
    """Return the number that a text writes as a number would be written, or None."""
    for kind in (int, float):
        try:
            number = kind(value)
        except ValueError:
            continue
        if isinstance(number, int) and abs(number) > _MAX_INTEGER:
            return None
        if str(number) == value:  # neither 007 nor 1e5 nor nan
            return number if number == number else None  # noqa: PLR0124 - nan
    return None


def _columns(keys: Counter[str]) -> list[str]:
    """Return the keys that become columns: whose names are plain, and taken by no other."""
    taken = set(FIXED) | {"key", "value"}
    chosen: list[str] = []
    for key, _ in sorted(keys.items(), key=lambda item: (-item[1], item[0])):
        if _NAME.fullmatch(key) and key.lower() not in taken and len(chosen) < _MOST_KEYS:
            taken.add(key.lower())
            chosen.append(key)
    return chosen


def _attribute(key: str, facts: Sequence[Fact]) -> pb.Column:
    values = [fact.metadata[key] for fact in facts if key in fact.metadata]
    numbers = [number_of(value) for value in values]
    if None in numbers:
        return _column(key, "TEXT", "an attribute of the document", values)
    kind = "INTEGER" if all(isinstance(number, int) for number in numbers) else "REAL"
    return _column(key, kind, "an attribute of the document", numbers)


def _column(name: str, kind: str, meaning: str, values: Sequence[Value]) -> pb.Column:
    counted = Counter(value for value in values if value not in {None, ""})
    complete = len(counted) <= _FEW_VALUES
    shown = [value for value, _ in counted.most_common(_FEW_VALUES if complete else _EXAMPLES)]
    return pb.Column(
        name=name,
        type=kind,
        description=meaning,
        examples=[cell_of(_short(value)) for value in shown],
        complete=complete,
    )


def _short(value: Value) -> Value:
    if isinstance(value, str) and len(value) > _LONGEST_EXAMPLE:
        return value[: _LONGEST_EXAMPLE - 1] + "…"
    return value
