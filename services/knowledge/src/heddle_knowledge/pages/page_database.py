"""The SQLite file with the pages of one collection, beside its tables.

A page is kept under the SHA-256 of the document that it is of, so it is right as long as it is
there, whichever version of a document is current. A document's pages come before the document and
go after it: a crash in between leaves pages that nobody asks for, and the next ingestion goes on
from them.
"""

import json
import math
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heddle_knowledge.embedders.embedding import Vectors
from heddle_knowledge.files.sqlite_files import remove, rows, vacuum, writing
from heddle_knowledge.pages.encoding import (
    digest,
    read_figures,
    read_words,
    summary,
    written_figures,
    written_words,
)
from heddle_knowledge.pages.shapes import DrawnPage, PagedDocument, Picture, StoredPage, WholePage
from heddle_knowledge.pages.words import TOKENIZER, matched, shares, words_of

_COUNTS = "SELECT value, (SELECT count(*) FROM texts WHERE texts MATCH value) FROM json_each(?)"
_OCCURRENCES = (
    "SELECT terms.value, texts.rowid, -bm25(texts) FROM json_each(?) AS terms "
    "JOIN texts ON texts MATCH terms.value "
    "WHERE texts.rowid IN (SELECT value FROM json_each(?))"
)
# `summary` stands before what is large, so that reading all of them touches little else.
_TABLES = f"""
CREATE TABLE IF NOT EXISTS documents (
  sha256 TEXT PRIMARY KEY, maker TEXT NOT NULL, pages INTEGER NOT NULL, whole INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pages (
  id INTEGER PRIMARY KEY, sha256 TEXT NOT NULL, page INTEGER NOT NULL, summary BLOB NOT NULL,
  text TEXT NOT NULL, figures TEXT NOT NULL, scanned INTEGER NOT NULL, picture_sha256 TEXT NOT NULL,
  words BLOB NOT NULL, picture BLOB NOT NULL, UNIQUE (sha256, page)
);
CREATE VIRTUAL TABLE IF NOT EXISTS texts USING fts5 (
  text, content = 'pages', content_rowid = 'id', tokenize = '{TOKENIZER}'
);
CREATE TRIGGER IF NOT EXISTS page_comes AFTER INSERT ON pages BEGIN
  INSERT INTO texts (rowid, text) VALUES (new.id, new.text);
END;
CREATE TRIGGER IF NOT EXISTS page_goes AFTER DELETE ON pages BEGIN
  INSERT INTO texts (texts, rowid, text) VALUES ('delete', old.id, old.text);
END;
"""  # noqa: S608 - only names of ours


@dataclass(frozen=True, slots=True)
class _Summaries:
    """The mean vector of every page: ids of shape [pages], vectors of shape [pages, dim]."""

    ids: NDArray[np.int64]
    vectors: NDArray[np.float32]


class PageDatabase:
    """As `places.CollectionPages`. Several processes may use one file.

    Every method raises `sqlite3.Error` or `OSError` if the disk fails.
    """

    def __init__(self, path: Path) -> None:
        """Name the file, which is made by the first page that comes."""
        self._path = path
        self._summaries: tuple[int, _Summaries] | None = None

    def expect(self, sha256: str, maker: str, pages: int) -> list[int]:
        """Return the pages of a document that are not stored yet, counted from 1."""
        with self._writing() as database:
            known = database.execute(
                "SELECT maker FROM documents WHERE sha256 = ?", (sha256,)
            ).fetchone()
            if known != (maker,):
                _forget(database, [sha256])
                database.execute(
                    "INSERT INTO documents VALUES (?, ?, ?, 0)", (sha256, maker, pages)
                )
            there = {
                page
                for (page,) in database.execute(
                    "SELECT page FROM pages WHERE sha256 = ?", (sha256,)
                )
            }
        return [page for page in range(1, pages + 1) if page not in there]

    def add(
        self, sha256: str, pages: Sequence[DrawnPage], words: Sequence[NDArray[np.float16]]
    ) -> None:
        """Store pages of an expected document that are not stored yet, durably."""
        values = [
            (
                *(sha256, page.page, summary(vectors).tobytes(), page.text),
                *(written_figures(page.figures), page.scanned, digest(page.picture)),
                written_words(vectors),
                page.picture,
            )
            for page, vectors in zip(pages, words, strict=True)
        ]
        with self._writing() as database:
            database.executemany(
                "INSERT OR IGNORE INTO pages (sha256, page, summary, text, figures, scanned, "
                "picture_sha256, words, picture) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                values,
            )

    def finish(self, sha256: str) -> bool:
        """Store that a document needs no more work; say whether it is still there."""
        with self._writing() as database:
            changed = database.execute("UPDATE documents SET whole = 1 WHERE sha256 = ?", (sha256,))
            return bool(changed.rowcount)

    def is_whole(self, sha256: str, maker: str) -> bool:
        """Return whether all pages of a document are stored, those of this maker."""
        query = "SELECT 1 FROM documents WHERE sha256 = ? AND maker = ? AND whole"
        return bool(self._rows(query, sha256, maker))

    def pictured(self, documents: Collection[str]) -> frozenset[tuple[str, int]]:
        """Return the pages of some documents that have a picture."""
        query = (
            "SELECT sha256, page FROM pages "
            "WHERE picture_sha256 != '' AND sha256 IN (SELECT value FROM json_each(?))"
        )
        return frozenset(self._rows(query, json.dumps(list(documents))))

    def count_pictures(self) -> int:
        """Return the number of pages with a picture."""
        counts = self._rows("SELECT count(*) FROM pages WHERE picture_sha256 != ''")
        return sum(count for (count,) in counts)

    def scanned(self, sha256: str) -> Mapping[int, str]:
        """Return the texts of the pages of a document that were read off their pictures."""
        return dict(self._rows("SELECT page, text FROM pages WHERE scanned AND sha256 = ?", sha256))

    def picture(self, sha256: str, page: int) -> Picture | None:
        """Return the picture of a page, if there is one."""
        query = (
            "SELECT picture, picture_sha256 FROM pages "
            "WHERE sha256 = ? AND page = ? AND picture_sha256 != ''"
        )
        return next((Picture(*row) for row in self._rows(query, sha256, page)), None)

    def page(self, sha256: str, page: int) -> DrawnPage | None:
        """Return a page without its picture."""
        query = "SELECT text, figures FROM pages WHERE sha256 = ? AND page = ?"
        pages = (
            DrawnPage(page, text=text, figures=read_figures(figures))
            for text, figures in self._rows(query, sha256, page)
        )
        return next(pages, None)

    def listed(self, sha256: str, first: int, last: int) -> dict[int, tuple[str, bool]]:
        """Return of stored pages of a document their text, and whether they have a picture."""
        query = (
            "SELECT page, text, picture_sha256 != '' FROM pages "
            "WHERE sha256 = ? AND page BETWEEN ? AND ?"
        )
        rows_of_pages = self._rows(query, sha256, first, last)
        return {page: (text, bool(pictured)) for page, text, pictured in rows_of_pages}

    def makers(self) -> set[str]:
        """Return the versions of models and readers on which the stored pages depend."""
        return {maker for (maker,) in self._rows("SELECT DISTINCT maker FROM documents")}

    def matching(
        self, query: str, most: int, only: Collection[str] | None = None
    ) -> dict[int, float]:
        """Return pages with a word of the question: by id their BM25, the best first."""
        terms = _terms(query)
        if not terms:
            return {}
        match_query = " OR ".join(terms)
        documents = None if only is None else json.dumps(list(only))
        query = (
            "SELECT rowid, -rank FROM texts WHERE texts MATCH ? AND (? IS NULL OR rowid IN "
            "(SELECT id FROM pages WHERE sha256 IN (SELECT value FROM json_each(?)))) "
            "ORDER BY rank LIMIT ?"
        )
        return dict(self._rows(query, match_query, documents, documents, most))

    def matched_words(self, query: str, ids: Collection[int]) -> dict[int, float]:
        """Return the share of a question's words in each page, weighted by their rarity."""
        counts = dict(self._rows(_COUNTS, json.dumps(_terms(query))))
        total = sum(count for (count,) in self._rows("SELECT count(*) FROM pages"))
        weights = shares(counts, total)
        if not weights:
            return {}
        scores = self._rows(_OCCURRENCES, json.dumps(list(weights)), json.dumps(list(ids)))
        occurrences = (
            (term, id_, bm25 / _sqlite_weight(counts[term], total)) for term, id_, bm25 in scores
        )
        return matched(occurrences, weights)

    def nearest(
        self, mean: Vectors, most: int, only: Collection[str] | None = None
    ) -> Collection[int]:
        """Return the ids of the pages whose mean vector is nearest to another one."""
        summaries = self._all_summaries()
        if not len(summaries.ids):
            return []
        near = summaries.vectors @ mean
        count = min(most, len(near))
        if only is not None:
            query = "SELECT id FROM pages WHERE sha256 IN (SELECT value FROM json_each(?))"
            ids = [id_ for (id_,) in self._rows(query, json.dumps(list(only)))]
            allowed = np.isin(summaries.ids, ids)
            near, count = np.where(allowed, near, -np.inf), min(count, int(allowed.sum()))
        if not count:
            return []
        best = np.argpartition(-near, count - 1)[:count]
        return [int(id_) for id_ in summaries.ids[best]]

    def read(self, ids: Collection[int], dim: int) -> list[StoredPage]:
        """Return pages by their ids, of those that are still there."""
        query = (
            "SELECT id, sha256, page, text, figures, words FROM pages "
            "WHERE id IN (SELECT value FROM json_each(?))"
        )
        return [
            StoredPage(
                id=id_,
                sha256=sha256,
                page=page,
                text=text,
                figures=read_figures(figures),
                words=np.frombuffer(words, np.float16).reshape(-1, dim),
            )
            for id_, sha256, page, text, figures, words in self._rows(query, json.dumps(list(ids)))
        ]

    def documents(self) -> dict[str, PagedDocument]:
        """Return by SHA-256 the documents that have pages here, or are to have."""
        known = self._rows("SELECT sha256, maker, pages, whole FROM documents ORDER BY sha256")
        return {
            sha256: PagedDocument(sha256, maker, pages, bool(whole))
            for sha256, maker, pages, whole in known
        }

    def numbers(self, sha256: str) -> list[int]:
        """Return the stored pages of a document, counted from 1, in their order."""
        query = "SELECT page FROM pages WHERE sha256 = ? ORDER BY page"
        return [page for (page,) in self._rows(query, sha256)]

    def whole_page(self, sha256: str, page: int) -> WholePage | None:
        """Return all that is stored of a page."""
        query = (
            "SELECT picture, text, figures, scanned, words, length(summary) FROM pages "
            "WHERE sha256 = ? AND page = ?"
        )
        for picture, text, figures, scanned, words, size in self._rows(query, sha256, page):
            drawn = DrawnPage(page, picture, text, read_figures(figures), bool(scanned))
            return WholePage(drawn, read_words(words, size // 2))
        return None

    def forget(self, documents: Sequence[str]) -> None:
        """Delete the pages of documents."""
        if documents:
            with self._writing() as database:
                _forget(database, documents)

    def purge(self) -> None:
        """Rewrite the file without deleted pages."""
        vacuum(self._path)

    def remove(self) -> None:
        """Delete the file."""
        remove(self._path)

    def _all_summaries(self) -> _Summaries:
        """Return the mean vectors of all pages, from memory unless pages came or went."""
        # Read before the pages: of pages that come in between, the next call learns by it.
        version = sum(version for (version,) in self._rows("PRAGMA user_version"))
        if self._summaries is None or self._summaries[0] != version:
            stored = self._rows("SELECT id, summary FROM pages WHERE summary != x'' ORDER BY id")
            vectors = np.array([np.frombuffer(it, np.float16) for _, it in stored], np.float32)
            ids = np.array([id_ for id_, _ in stored], np.int64)
            self._summaries = version, _Summaries(ids, vectors)
        return self._summaries[1]

    def _rows(self, query: str, *parameters: str | int | None) -> list[tuple[Any, ...]]:
        return rows(self._path, query, *parameters)

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection within a transaction, which is on disk afterwards."""
        with writing(self._path, _TABLES) as database:
            yield database
            (version,) = database.execute("PRAGMA user_version").fetchone()
            database.execute(f"PRAGMA user_version = {(version + 1) % 2**31}")


def _terms(query: str) -> list[str]:
    """Return the words of a question, quoted for a match."""
    return [f'"{word}"' for word in words_of(query)]


def _sqlite_weight(count: int, total: int) -> float:
    """Return the weight of such a word in SQLite's bm25()."""
    weight = math.log((total - count + 0.5) / (count + 0.5))
    return weight if weight > 0 else 1e-6


def _forget(database: sqlite3.Connection, documents: Sequence[str]) -> None:
    for sha256 in documents:
        database.execute("DELETE FROM pages WHERE sha256 = ?", (sha256,))
        database.execute("DELETE FROM documents WHERE sha256 = ?", (sha256,))
    database.execute("PRAGMA incremental_vacuum").fetchall()
