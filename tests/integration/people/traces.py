"""Reads everything that an installation stores, and finds a text in it."""

import re
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import asyncpg

_HEADER = b"SQLite format 3\0"


def traces(folder: Path, *texts: str | bytes) -> list[str]:
    """Return where any of some texts stands: in names, in bytes of files, in rows of tables."""
    pattern = _pattern(texts)
    matches = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if pattern.search(name.encode()):
            matches.append(f"{name}: its name")
        try:
            if not path.is_file():
                continue
            if pattern.search(path.read_bytes()):
                matches.append(f"{name}: its bytes")
            if is_database(path):
                matches += [f"{name}: {each}" for each in _in_rows(path, pattern)]
        except FileNotFoundError:  # a service has removed it meanwhile
            continue
    return matches


def is_database(path: Path) -> bool:
    """Return whether a file is a database of SQLite."""
    with path.open("rb") as file:
        return file.read(len(_HEADER)) == _HEADER


def tables(path: Path) -> list[str]:
    """Return the names of the tables of a database of SQLite."""
    with closing(sqlite3.connect(path)) as database:
        rows = database.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
        return [name for (name,) in rows]


async def tables_with(url: str, *texts: str | bytes) -> list[str]:
    """Return the tables of a PostgreSQL database that have any of some texts."""
    pattern = _pattern(texts)
    connection = await asyncpg.connect(url)
    try:
        names = await connection.fetch(
            "SELECT table_schema AS place, table_name AS name FROM information_schema.tables "
            "WHERE table_schema NOT IN ('pg_catalog', 'information_schema')"
        )
        matches = []
        for row in names:
            statement = f'SELECT * FROM "{row["place"]}"."{row["name"]}"'  # noqa: S608 - a name of the schema
            for values in await connection.fetch(statement):
                if any(pattern.search(each) for value in values for each in _texts(value)):
                    matches.append(f"{row['place']}.{row['name']}")
                    break
        return matches
    finally:
        await connection.close()


def _pattern(texts: Sequence[str | bytes]) -> "re.Pattern[bytes]":
    codes = (
        text.encode(code) if isinstance(text, str) else text
        for text in texts
        for code in ("utf-8", "utf-16-le")
    )
    return re.compile(b"|".join(map(re.escape, codes)), re.IGNORECASE)


def _in_rows(path: Path, pattern: "re.Pattern[bytes]") -> Iterator[str]:
    with closing(sqlite3.connect(path)) as database:
        database.text_factory = bytes
        for table in tables(path):
            for row in database.execute(f'SELECT * FROM "{table}"'):  # noqa: S608 - a name of the schema
                if any(pattern.search(each) for value in row for each in _texts(value)):
                    yield f"table {table}"
                    break


def _texts(value: Any) -> Iterator[bytes]:
    """Yield the bytes of a value, and what they are when they are not compressed."""
    if isinstance(value, str):
        value = value.encode()
    if not isinstance(value, bytes):
        return
    yield value
    try:
        yield zlib.decompress(value)
    except zlib.error:
        return
