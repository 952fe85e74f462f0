"""The file of a collection's graph: what was found in each version of each document.

A part is written before its document is committed and dropped after the document has gone, so it
counts only if the collection holds the document with the part's checksum: whoever crashes when, a
graph is never wrong, and at worst there is a part too many.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from heddle_knowledge.chunking.chunks import Chunk
from heddle_knowledge.graph.records import Name, Part

_PATIENCE = 20_000
_LEFT_OVER = 24 * 3600
"""Seconds after which nobody commits any more what was drawn."""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS part (
  id INTEGER PRIMARY KEY AUTOINCREMENT, document TEXT NOT NULL, sha256 TEXT NOT NULL,
  english INTEGER NOT NULL,
  drawn_at INTEGER NOT NULL,
  UNIQUE (document, sha256));
CREATE TABLE IF NOT EXISTS passage (
  part INTEGER NOT NULL, ordinal INTEGER NOT NULL, text TEXT NOT NULL, page INTEGER,
  heading TEXT NOT NULL, PRIMARY KEY (part, ordinal)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS mention (
  part INTEGER NOT NULL, ordinal INTEGER NOT NULL, key TEXT NOT NULL, surface TEXT NOT NULL,
  PRIMARY KEY (part, ordinal, key)) WITHOUT ROWID;
"""


def add_part(
    file: Path, part: Part, chunks: Sequence[Chunk], names: Sequence[Sequence[Name]]
) -> None:
    """Keep what was found in a version of a document, in place of what was found in it before.

    Args:
        file: The graph's file, which is made if it is missing.
        part: The document and its version.
        chunks: Its passages.
        names: The names of each; empty for a document that is not in English.
    """
    with _writing(file) as connection:
        same = connection.execute(
            "SELECT id FROM part WHERE document = ? AND sha256 = ?", _bound(part)
        )
        _drop(connection, [each[0] for each in same])
        connection.execute(
            "INSERT INTO part (document, sha256, english, drawn_at) VALUES (?, ?, ?, ?)",
            (part.document, part.sha256, bool(names), int(time.time())),
        )
        row = connection.last_insert_rowid()
        mentions = [(chunk, own) for chunk, own in zip(chunks, names, strict=False) if own]
        connection.executemany(
            "INSERT INTO passage VALUES (?, ?, ?, ?, ?)",
            [
                (row, chunk.ordinal, chunk.text, chunk.page, " / ".join(chunk.heading))
                for chunk, _ in mentions
            ],
        )
        connection.executemany(
            "INSERT INTO mention VALUES (?, ?, ?, ?)",
            [
                (row, chunk.ordinal, name.key, name.surface)
                for chunk, own in mentions
                for name in own
            ],
        )


def has_part(file: Path, part: Part) -> bool:
    """Return whether a version of a document is in the graph."""
    query = "SELECT id FROM part WHERE document = ? AND sha256 = ?"
    return bool(rows(str(file), query, *_bound(part)))


def count_names(file: Path) -> int:
    """Return how many names all parts have together."""
    return sum(count for (count,) in rows(str(file), "SELECT COUNT(DISTINCT key) FROM mention"))


def rows(path: str, query: str, *values: str | int) -> list[tuple[Any, ...]]:
    """Return what a query finds in a graph; nothing if nobody has drawn it yet."""
    try:
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    except apsw.CantOpenError:
        return []
    try:
        connection.set_busy_timeout(_PATIENCE)
        return list(connection.execute(query, values))
    except apsw.SQLError:  # the file is there already, and its tables are not
        return []
    finally:
        connection.close()


def settle(file: Path, document: str, old: str, new: str) -> None:
    """Drop a version of a document, and leftovers of those who died before they committed.

    Others may have drawn a version that they have yet to commit: it stays.
    """
    if not file.exists():
        return
    with _writing(file) as connection:
        rows = connection.execute(
            "SELECT id FROM part WHERE document = ? AND sha256 <> ? "
            "AND (sha256 = ? OR drawn_at < ?)",
            (document, new, old, int(time.time()) - _LEFT_OVER),
        )
        _drop(connection, [row[0] for row in rows])


def remove(file: Path) -> None:
    """Remove a graph."""
    for each in (file, *(file.with_name(f"{file.name}-{end}") for end in ("wal", "shm"))):
        each.unlink(missing_ok=True)


@contextmanager
def _writing(file: Path) -> Iterator[apsw.Connection]:
    """Give a transaction that is on disk at the end of the block, or has not happened."""
    file.parent.mkdir(parents=True, exist_ok=True)
    connection = apsw.Connection(str(file))
    try:
        connection.set_busy_timeout(_PATIENCE)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(_SCHEMA)
        yield connection
        connection.execute("COMMIT")
    finally:
        connection.close()  # which undoes what is not committed


def _bound(part: Part) -> tuple[str, str]:
    return part.document, part.sha256


def _drop(connection: apsw.Connection, parts: Sequence[int]) -> None:
    for part in parts:
        for statement in (
            "DELETE FROM mention WHERE part = ?",
            "DELETE FROM passage WHERE part = ?",
            "DELETE FROM part WHERE id = ?",
        ):
            connection.execute(statement, (part,))
