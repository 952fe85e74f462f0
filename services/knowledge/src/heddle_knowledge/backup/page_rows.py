"""Pages of documents with their pictures, which are in files beside the collections."""

import base64
import sqlite3
from collections.abc import AsyncIterable, AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from heddle_knowledge.pages.page_database import PageDatabase
from heddle_knowledge.sqlite_files import remove, snapshot, writing

Row = Mapping[str, Any]
_ENDING = ".pages"
_DOCUMENTS = "SELECT sha256, maker, pages, whole FROM documents ORDER BY sha256"
_COLUMNS = "sha256, page, summary, text, figures, scanned, picture_sha256, words, picture"
_BINARY = ("summary", "words", "picture")
_PAGES = f"SELECT {_COLUMNS} FROM pages ORDER BY sha256, page"  # noqa: S608 - constants
_PART = 50
_INSERT = f"INSERT INTO pages ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - constants


async def rows(folder: Path) -> AsyncIterator[dict[str, Any]]:
    """Yield the pages of all collections; those of one as of one moment, documents first."""
    for path in sorted(folder.glob(f"*{_ENDING}")):
        same = {"collection": path.name.removesuffix(_ENDING)}
        with snapshot(path, "pages") as database:
            if database is None:
                continue
            database.row_factory = sqlite3.Row
            for kind, query in (("document", _DOCUMENTS), ("page", _PAGES)):
                for row in database.execute(query):
                    yield same | {"kind": kind} | dict(row)


async def add(folder: Path, found: AsyncIterable[Row]) -> None:
    """Add pages as `rows` yields them."""
    part: list[Row] = []
    async for row in found:
        if part and (len(part) == _PART or row["collection"] != part[0]["collection"]):
            _add_pages(folder, part)
            part = []
        if row["kind"] == "page":
            part.append(row)
            continue
        pages = PageDatabase(folder / f"{row['collection']}{_ENDING}")
        pages.expect(row["sha256"], row["maker"], row["pages"])
        if row["whole"]:
            pages.finish(row["sha256"])
    if part:
        _add_pages(folder, part)


def _add_pages(folder: Path, part: Sequence[Row]) -> None:
    with writing(folder / f"{part[0]['collection']}{_ENDING}", "") as database:
        for row in part:
            values = dict(row) | {name: base64.b64decode(row[name]) for name in _BINARY}
            database.execute(_INSERT, [values[name] for name in _COLUMNS.split(", ")])


def clear(folder: Path) -> None:
    """Remove all pages."""
    for path in folder.glob(f"*{_ENDING}"):
        remove(path)
