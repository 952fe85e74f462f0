"""The file of a collection's graph: what was found in each version of each document.

A part is written before its document is committed and dropped after the document has gone, so it
counts only if the collection holds the document with the part's checksum: whoever crashes when, a
graph is never wrong, and at worst there is a part too many.
"""

import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

from heddle_knowledge.chunking.chunks import Chunk
from heddle_knowledge.graph.records import Name, Part
from heddle_knowledge.sqlite_files import rows, writing

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
    with writing(file, _SCHEMA) as connection:
        same = connection.execute(
            "SELECT id FROM part WHERE document = ? AND sha256 = ?", (part.document, part.sha256)
        )
        _drop(connection, [each[0] for each in same])
        row = connection.execute(
            "INSERT INTO part (document, sha256, english, drawn_at) VALUES (?, ?, ?, ?)",
            (part.document, part.sha256, bool(names), int(time.time())),
        ).lastrowid
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
    return bool(rows(file, query, part.document, part.sha256))


def count_names(file: Path) -> int:
    """Return how many names all parts have together."""
    return sum(count for (count,) in rows(file, "SELECT COUNT(DISTINCT key) FROM mention"))


def settle(file: Path, document: str, old: str, new: str) -> None:
    """Drop a version of a document, and leftovers of those who died before they committed.

    Others may have drawn a version that they have yet to commit: it stays.
    """
    if not file.exists():
        return
    with writing(file, _SCHEMA) as connection:
        gone = connection.execute(
            "SELECT id FROM part WHERE document = ? AND sha256 <> ? "
            "AND (sha256 = ? OR drawn_at < ?)",
            (document, new, old, int(time.time()) - _LEFT_OVER),
        )
        _drop(connection, [row[0] for row in gone])


def _drop(connection: sqlite3.Connection, parts: Sequence[int]) -> None:
    for part in parts:
        for statement in (
            "DELETE FROM mention WHERE part = ?",
            "DELETE FROM passage WHERE part = ?",
            "DELETE FROM part WHERE id = ?",
        ):
            connection.execute(statement, (part,))
