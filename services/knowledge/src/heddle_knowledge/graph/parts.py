"""The file of a collection's graph: the names of each version of each document.

A part is written before its document is committed and dropped after the document has gone, so it
counts only if the collection holds the document with the part's checksum: whoever crashes when, a
graph is never wrong, and at worst there is a part too many.
"""

import sqlite3
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec

from heddle_knowledge.files.sqlite_files import rows, writing
from heddle_knowledge.graph.records import DrawnPart, Name, NamedPassage, Part

LEFT_OVER_SECONDS = 24 * 3600
"""Age of a part whose document will not be committed any more."""
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


def add_part(file: Path, drawn: DrawnPart) -> None:
    """Store the names of a version of a document, in place of earlier ones.

    The graph's file is made if it is missing.
    """
    part = drawn.part
    with writing(file, _SCHEMA) as connection:
        same = connection.execute(
            "SELECT id FROM part WHERE document = ? AND sha256 = ?", (part.document, part.sha256)
        )
        _drop(connection, [each[0] for each in same])
        _insert(connection, None, drawn)


def replace_parts(file: Path, gone: Iterable[int], drawn: Iterable[tuple[int, DrawnPart]]) -> None:
    """Drop the parts of some numbers, and add others with the numbers that they have elsewhere."""
    with writing(file, _SCHEMA) as connection:
        _drop(connection, gone)
        for number, each in drawn:
            _insert(connection, number, each)


def numbers(file: Path) -> set[int]:
    """Return the numbers of all parts."""
    return {number for (number,) in rows(file, "SELECT id FROM part")}


def all_parts(file: Path) -> list[Part]:
    """Return the versions of documents that are in the graph."""
    return [Part(*row) for row in rows(file, "SELECT document, sha256 FROM part")]


def get_part(file: Path, part: Part) -> DrawnPart | None:
    """Return the names of a version of a document; None if it is not in the graph."""
    query = "SELECT id, english FROM part WHERE document = ? AND sha256 = ?"
    for number, english in rows(file, query, part.document, part.sha256):
        names: dict[int, list[Name]] = {}
        query = "SELECT ordinal, key, surface FROM mention WHERE part = ? ORDER BY ordinal, key"
        for ordinal, key, surface in rows(file, query, number):
            names.setdefault(ordinal, []).append(Name(key, surface))
        query = "SELECT ordinal, text, page, heading FROM passage WHERE part = ? ORDER BY ordinal"
        passages = [
            NamedPassage(ordinal, text, page, heading, names.get(ordinal, []))
            for ordinal, text, page, heading in rows(file, query, number)
        ]
        return DrawnPart(part, bool(english), passages)
    return None


def has_part(file: Path, part: Part) -> bool:
    """Return whether a version of a document is in the graph."""
    query = "SELECT id FROM part WHERE document = ? AND sha256 = ?"
    return bool(rows(file, query, part.document, part.sha256))


def count_names(file: Path) -> int:
    """Return the number of names of all parts together."""
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
            (document, new, old, int(time.time()) - LEFT_OVER_SECONDS),
        )
        _drop(connection, [row[0] for row in gone])


def _insert(connection: sqlite3.Connection, number: int | None, drawn: DrawnPart) -> None:
    part = connection.execute(
        "INSERT OR IGNORE INTO part (id, document, sha256, english, drawn_at) "
        "VALUES (?, ?, ?, ?, ?) RETURNING id",
        (number, *msgspec.structs.astuple(drawn.part), drawn.english, int(time.time())),
    ).fetchone()
    if part is None:  # another process has just added it
        return
    connection.executemany(
        "INSERT INTO passage VALUES (?, ?, ?, ?, ?)",
        [(*part, each.ordinal, each.text, each.page, each.heading) for each in drawn.passages],
    )
    connection.executemany(
        "INSERT INTO mention VALUES (?, ?, ?, ?)",
        [
            (*part, each.ordinal, name.key, name.surface)
            for each in drawn.passages
            for name in each.names
        ],
    )


def _drop(connection: sqlite3.Connection, parts: Iterable[int]) -> None:
    for part in parts:
        for statement in (
            "DELETE FROM mention WHERE part = ?",
            "DELETE FROM passage WHERE part = ?",
            "DELETE FROM part WHERE id = ?",
        ):
            connection.execute(statement, (part,))
