"""LAMB databases whose columns hold anything, beside rows that are as they should be."""

import json
import re
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from heddle_migration_service.lamb.knowledge_stores import store_number
from heddle_migration_service.lamb.values import whole_number
from migration.lamb.lamb_database import METERED, NEWEST, NOW, Lamb

LOOSE = {
    name: re.sub(r",\s*UNIQUE \([^)]*\)| UNIQUE| NOT NULL", "", columns)
    for name, columns in {**NEWEST, **METERED}.items()
}
"""Tables that check nothing."""
COLUMNS: dict[str, list[str]] = {
    name: re.findall(r"(\w+) (?:INTEGER|TEXT|JSON|BOOLEAN|REAL)", columns)
    for name, columns in LOOSE.items()
}
METADATA = json.dumps(
    {"connector": "openai", "llm": "gpt-4o", "rag_processor": "rubric_rag", "rubric_id": "r-good"}
)
_OF_GOOD = {"organization_id": 9001, "owner_user_id": 9002}
GOOD: Mapping[str, dict[str, Any]] = {
    "organizations": {"id": 9001, "slug": "good", "name": "Good"},
    "Creator_users": {"id": 9002, "user_email": "good@example.org", "organization_id": 9001},
    "assistants": {
        "id": 9003,
        "name": "1_good",
        "owner": "good@example.org",
        "organization_id": 9001,
        "api_callback": METADATA,
    },
    "rubrics": {"id": 9004, "rubric_id": "r-good", "rubric_data": "{}", "organization_id": 9001},
    "kb_registry": {"id": 9005, "kb_id": "kb-good", "kb_name": "Good"} | _OF_GOOD,
    "knowledge_stores": {"id": "ks-good", "name": "Good"} | _OF_GOOD,
    "assistant_usage_totals": {"assistant_id": 9003, "prompt_tokens_total": 5},
}
"""A row of each table that is imported."""
_NAMES = (
    *("_format_version", "tools", "type", "plugin", "config", "collections", "slot", "id"),
    *("rag_processor", "rubric_id", "item_id", "llm", "connector", "title", "capabilities"),
    *("document_rag", "file_path", "quota", "setups", "default", "providers", "models"),
    *("knowledge_base", "kb_server", "url", "openai", "base_url", "api_key", "prices"),
    *("description", "mode", "enabled", "timeout", "top_k", "assistant_type", "_legacy"),
    "\ud800",
)
_SCALARS = (
    *(None, True, False, 0, 1, 2, 3, -1, 2**53, -(2**70), 2**70, 0.5, -0.0, 1e308, 5e-324),
    *("simple_rag", "rubric_rag", "rubric", "library_file_rag", "single_file", "no_rag"),
    *("\ud800", "\0", "", "http://10.0.0.1/", "http://[", "2", "context", "{a}"),
)
_DIGITS = "9" * 5_000
_CELLS = (
    *(None, -(2**63), 2**63 - 1, *range(-1, 5), 0.5, float("inf"), float("nan"), 1e308),
    *("lamb", "good", "active", "null", "", " ", "x" * 3_000, "[" * 100_000, "NaN"),
    *('{"quota": NaN}', f'{{"a": {_DIGITS}}}', _DIGITS, "1e400", "²", "2024-01-01"),
    *("0001-01-01T00:00:00+23:59", "a@b@c", "A@Example.org", "\u2028", "{1_context}"),
    "deleted_assistant@owi.com",
)
_MAX_ROWS = 12


@dataclass(frozen=True)
class Text:
    """A text of LAMB's, perhaps one that is no UTF-8."""

    data: bytes


def arbitrary_rows(random: Random) -> "list[Row]":
    """Return rows, of which one column or some hold anything."""
    tables = [random.choice(sorted(LOOSE)) for _ in range(random.randint(0, _MAX_ROWS))]
    return [(table, _cells(random, table)) for table in tables]


def _cells(random: Random, table: str) -> dict[str, Any]:
    names = random.choices(COLUMNS[table], k=random.randint(0, 6))
    cells = {name: _cell(random) for name in names}
    if cells.get("slug") == GOOD["organizations"]["slug"]:  # which would be the same organisation
        del cells["slug"]
    if table == "assistants" and random.random() < 0.5:
        cells["api_callback"] = json.dumps(_version_2(random))
    return cells


def _cell(random: Random) -> Any:
    kinds: list[Callable[[], Any]] = [
        lambda: random.choice(_CELLS),
        lambda: random.randint(-(2**63), 2**63 - 1),
        lambda: random.randbytes(random.randint(0, 8)),
        lambda: Text(random.randbytes(random.randint(0, 8))),
        lambda: _text(random).encode(errors="replace").decode(),
        lambda: json.dumps(_json(random)),
        lambda: json.dumps(_version_2(random)),
    ]
    return random.choice(kinds)()


def _json(random: Random, depth: int = 3) -> Any:
    kind = random.randint(0, 4 if depth else 2)
    if kind < 2:
        return random.choice(_SCALARS)
    if kind == 2:
        return random.choice([_text(random), random.randint(-(2**70), 2**70), random.random()])
    values = [_json(random, depth - 1) for _ in range(random.randint(0, 4))]
    if kind == 3:
        return values
    return {random.choice([*_NAMES, _text(random)]): value for value in values}


def _version_2(random: Random) -> dict[str, Any]:
    members = random.sample(["tools", "llm", "connector", "quota"], random.randint(0, 4))
    version = random.choice([2, "2", 2.0])
    return {"_format_version": version, **{name: _json(random) for name in members}}


def _text(random: Random) -> str:
    last = random.choice([0x7F, 0xFFFF, 0x10FFFF])
    return "".join(chr(random.randint(0, last)) for _ in range(random.randint(0, 12)))


Row = tuple[str, dict[str, Any]]


def add_rows(lamb: Lamb, rows: list[Row]) -> None:
    """Add rows to a database."""
    with lamb.open() as connection:
        for number, (table, cells) in enumerate(rows, start=101):
            values = {_key(table): number, **cells}
            if table == "assistants":  # whose budget and publication may be odd, too
                values = {"name": f"1_n{number}", "api_callback": "{}", **values}
            _insert(connection, table, values, number)
        connection.commit()


def mend(lamb: Lamb, refused: Mapping[str, set[int]]) -> None:
    """Remove the refused rows, and put rows like the good ones under the same ids if possible."""
    with lamb.open() as connection:
        connection.text_factory = bytes
        for table, ids in refused.items():
            for rowid, number in _rowids(connection, table):
                if number in ids:
                    connection.execute(f'DELETE FROM "LAMB_{table}" WHERE rowid = ?', (rowid,))  # noqa: S608 - names of a test
            if table == "knowledge_stores":
                continue
            for number in ids:
                row = {name: _other(name, value, number) for name, value in GOOD[table].items()}
                if 0 < number < 2**53 and table != "assistant_usage_totals":
                    _insert(connection, table, {**row, _key(table): number}, number)
        connection.commit()


def numbers(lamb: Lamb) -> dict[str, list[int]]:
    """Return the numbers that Heddle knows rows by, of each table; 0 for rows without an id."""
    with lamb.open() as connection:
        connection.text_factory = bytes
        return {table: [number for _, number in _rowids(connection, table)] for table in GOOD}


def good_lamb(path: Path) -> Lamb:
    """Make a database with good rows alone."""
    lamb = Lamb(path).make(LOOSE, journal="DELETE")
    for table, row in GOOD.items():
        lamb.add(table, row)
    return lamb


def _rowids(connection: sqlite3.Connection, table: str) -> list[tuple[int, int]]:
    rows = connection.execute(f'SELECT rowid, {_key(table)} FROM "LAMB_{table}"')  # noqa: S608 - names of a test
    number = store_number if table == "knowledge_stores" else whole_number
    return [(rowid, number(key) or 0) for rowid, key in rows]


def _other(name: str, value: Any, number: int) -> Any:
    return f"{value}{number}" if name in ("slug", "user_email", "rubric_id", "kb_id") else value


def _key(table: str) -> str:
    return COLUMNS[table][0]


def _insert(
    connection: sqlite3.Connection, table: str, values: Mapping[str, Any], number: int
) -> None:
    usual: dict[str, Any] = {
        name: NOW for name in ("created_at", "updated_at") if name in COLUMNS[table]
    }
    row: dict[str, Any] = {**usual, **values}
    if "INTEGER PRIMARY KEY" in LOOSE[table] and not isinstance(row.get(_key(table)), int):
        row[_key(table)] = number  # SQLite would refuse anything else
    marks = ", ".join("CAST(? AS TEXT)" if isinstance(each, Text) else "?" for each in row.values())
    names = ", ".join(f'"{name}"' for name in row)
    connection.execute(
        f'INSERT OR REPLACE INTO "LAMB_{table}" ({names}) VALUES ({marks})',  # noqa: S608 - names of a test
        [each.data if isinstance(each, Text) else each for each in row.values()],
    )
