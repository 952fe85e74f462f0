"""The pages of one collection in PostgreSQL, their pictures there or in an object store."""

import uuid
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import asyncpg
import numpy as np
import structlog
from heddle_runtime.errors import StorageError
from heddle_runtime.storage.object_store import ObjectStore
from numpy.typing import NDArray

from heddle_knowledge.embedders.embedding import Vectors
from heddle_knowledge.pages import page_tables as sql
from heddle_knowledge.pages.encoding import (
    digest,
    read_figures,
    read_words,
    summary,
    written_figures,
    written_words,
)
from heddle_knowledge.pages.page_connections import Connection, PageTables
from heddle_knowledge.pages.shapes import DrawnPage, PagedDocument, Picture, StoredPage, WholePage
from heddle_knowledge.pages.words import matched, shares, tokens_of, words_of

OBJECTS = "pages/"
"""The beginning of the keys of pictures."""
log = structlog.get_logger(__name__)


@dataclass(eq=False, slots=True)
class PageRows:
    """As `places.CollectionPages`. Methods raise the `StorageError` of the runtime."""

    database: PageTables
    objects: ObjectStore | None
    collection: str

    def documents(self) -> dict[str, PagedDocument]:
        """Return by SHA-256 the documents that have pages here, or are to have."""
        known = self._rows(
            "SELECT sha256, maker, pages, whole FROM paged_documents WHERE collection = $1 "
            "ORDER BY sha256"
        )
        return {row["sha256"]: PagedDocument(*row) for row in known}

    def numbers(self, sha256: str) -> list[int]:
        """Return the stored pages of a document, counted from 1, in their order."""
        return [row["page"] for row in self._rows(sql.STORED, sha256)]

    def whole_page(self, sha256: str, page: int) -> WholePage | None:
        """Return all that is stored of a page."""
        query = (
            "SELECT picture, object_key, text, figures, scanned, words, "
            "coalesce(vector_dims(summary), 0) AS dim FROM pages "
            "WHERE collection = $1 AND sha256 = $2 AND page = $3"
        )
        for row in self._rows(query, sha256, page):
            figures = read_figures(row["figures"])
            picture = self._picture(row) or b""
            drawn = DrawnPage(page, picture, row["text"], figures, row["scanned"])
            return WholePage(drawn, read_words(row["words"], row["dim"]))
        return None

    def expect(self, sha256: str, maker: str, pages: int) -> list[int]:
        """Return the pages of a document that are not stored yet, counted from 1."""
        stored, keys = self.database.wait(self._expect(sha256, maker, pages))
        self.drop_objects(keys)
        return [page for page in range(1, pages + 1) if page not in stored]

    def add(
        self, sha256: str, pages: Sequence[DrawnPage], words: Sequence[NDArray[np.float16]]
    ) -> None:
        """Store pages of an expected document that are not stored yet, durably."""
        tokens = tokens_of([page.text for page in pages])
        for page, vectors, counts in zip(pages, words, tokens, strict=True):
            key = self._put(sha256, page)
            # Whether the row is there may stay unknown; then the object stays, for a later look.
            if not self.database.wait(self._add(sha256, page, vectors, counts, key)):
                self.drop_objects([key])

    def finish(self, sha256: str) -> bool:
        """Store that a document needs no more work; say whether it is still there."""
        return bool(self._rows(sql.FINISH, sha256))

    def is_whole(self, sha256: str, maker: str) -> bool:
        """Return whether all pages of a document are stored, those of this maker."""
        query = (
            "SELECT FROM paged_documents WHERE collection = $1 AND sha256 = $2 AND maker = $3 "
            "AND whole"
        )
        return bool(self._rows(query, sha256, maker))

    def pictured(self, documents: Collection[str]) -> frozenset[tuple[str, int]]:
        """Return the pages of some documents that have a picture."""
        query = (
            "SELECT sha256, page FROM pages "
            "WHERE collection = $1 AND sha256 = ANY($2) AND picture_sha256 != ''"
        )
        return frozenset(tuple(row) for row in self._rows(query, list(documents)))

    def count_pictures(self) -> int:
        """Return the number of pages with a picture."""
        query = "SELECT count(*) FROM pages WHERE collection = $1 AND picture_sha256 != ''"
        return int(self._rows(query)[0][0])

    def scanned(self, sha256: str) -> Mapping[int, str]:
        """Return the texts of the pages of a document that were read off their pictures."""
        query = "SELECT page, text FROM pages WHERE collection = $1 AND sha256 = $2 AND scanned"
        return {row["page"]: row["text"] for row in self._rows(query, sha256)}

    def picture(self, sha256: str, page: int) -> Picture | None:
        """Return the picture of a page, if there is one."""
        query = (
            "SELECT picture, object_key, picture_sha256 FROM pages "
            "WHERE collection = $1 AND sha256 = $2 AND page = $3 AND picture_sha256 != ''"
        )
        for row in self._rows(query, sha256, page):
            if (data := self._picture(row)) is not None:
                return Picture(data, row["picture_sha256"])
        return None

    def page(self, sha256: str, page: int) -> DrawnPage | None:
        """Return a page without its picture."""
        query = (
            "SELECT text, figures FROM pages WHERE collection = $1 AND sha256 = $2 AND page = $3"
        )
        for row in self._rows(query, sha256, page):
            return DrawnPage(page, text=row["text"], figures=read_figures(row["figures"]))
        return None

    def listed(self, sha256: str, first: int, last: int) -> dict[int, tuple[str, bool]]:
        """Return of stored pages of a document their text, and whether they have a picture."""
        query = (
            "SELECT page, text, picture_sha256 != '' FROM pages "
            "WHERE collection = $1 AND sha256 = $2 AND page BETWEEN $3 AND $4"
        )
        rows = self._rows(query, sha256, first, last)
        return {page: (text, pictured) for page, text, pictured in rows}

    def makers(self) -> set[str]:
        """Return the versions of models and readers on which the stored pages depend."""
        query = "SELECT DISTINCT maker FROM paged_documents WHERE collection = $1"
        return {row["maker"] for row in self._rows(query)}

    def matching(
        self, query: str, most: int, only: Collection[str] | None = None
    ) -> dict[int, float]:
        """Return pages with a word of the question: by id their BM25, the best first."""
        tokens = list(_tokens(query).values())
        if not tokens:
            return {}
        rows = self._rows(sql.MATCHING, tokens, _listed(only), most)
        return {row["id"]: row["bm25"] for row in rows}

    def matched_words(self, query: str, ids: Collection[int]) -> dict[int, float]:
        """Return the share of a question's words in each page, weighted by their rarity."""
        tokens = _tokens(query)
        rows = self._rows(sql.COUNTS, list(tokens.values()))
        hits = {row["word"]: row["hits"] for row in rows}
        total = self._rows("SELECT count(*) FROM pages WHERE collection = $1")[0][0]
        counts = {word: hits[token] for word, token in tokens.items()}
        weights: dict[str, float] = defaultdict(float)
        for word, weight in shares(counts, total).items():
            weights[tokens[word]] += weight  # words of one stem count each
        occurrences = self._rows(sql.OCCURRENCES, list(weights), list(ids))
        return matched((tuple(row) for row in occurrences), weights)

    def nearest(
        self, mean: Vectors, most: int, only: Collection[str] | None = None
    ) -> Collection[int]:
        """Return the ids of the pages whose mean vector is nearest to another one."""
        return [row["id"] for row in self._rows(sql.NEAREST, _vector(mean), _listed(only), most)]

    def read(self, ids: Collection[int], dim: int) -> list[StoredPage]:
        """Return pages by their ids, of those that are still there."""
        query = (
            "SELECT id, sha256, page, text, figures, words FROM pages "
            "WHERE collection = $1 AND id = ANY($2) ORDER BY id"
        )
        return [
            StoredPage(
                id=row["id"],
                sha256=row["sha256"],
                page=row["page"],
                text=row["text"],
                figures=read_figures(row["figures"]),
                words=read_words(row["words"], dim),
            )
            for row in self._rows(query, list(ids))
        ]

    def forget(self, documents: Sequence[str]) -> None:
        """Delete the pages of documents."""
        for sha256 in documents:
            self.drop_objects(self.database.wait(self._forget(sha256)))

    async def forget_in(self, connection: Connection, sha256: str) -> list[str | None]:
        """Delete the pages of a document in a transaction; return the keys of their pictures."""
        keys: list[str | None] = []
        while rows := await connection.fetch(sql.FORGET_PAGES, self.collection, sha256):
            keys += [row["object_key"] for row in rows]
        await connection.execute(sql.FORGET, self.collection, sha256)
        return keys

    def drop_objects(self, keys: Iterable[str | None]) -> None:
        """Delete pictures that no page has any more. Those that stay are deleted later."""
        try:
            for key in keys:
                if key is not None and self.objects is not None:
                    self.objects.delete(key)
        except StorageError as error:
            log.warning("pictures of pages not deleted", diagnosis=error.diagnosis)

    async def _forget(self, sha256: str) -> list[str | None]:
        async with self.database.transaction() as connection:
            return await self.forget_in(connection, sha256)

    async def _expect(
        self, sha256: str, maker: str, pages: int
    ) -> tuple[set[int], list[str | None]]:
        keys: list[str | None] = []
        async with self.database.transaction() as connection:
            known = await connection.fetchval(sql.KNOWN, self.collection, sha256)
            if known != maker:
                keys = await self.forget_in(connection, sha256)
                await connection.execute(sql.EXPECT, self.collection, sha256, maker, pages)
            stored = await connection.fetch(sql.STORED, self.collection, sha256)
        return {row["page"] for row in stored}, keys

    async def _add(
        self,
        sha256: str,
        page: DrawnPage,
        words: NDArray[np.float16],
        counts: Counter[str],
        key: str | None,
    ) -> bool:
        """Store a page; say whether it is new and its document is still expected."""
        mean = summary(words)
        row = (
            *(self.collection, sha256, page.page, counts.total()),
            *(_vector(mean) if len(mean) else None, _without_nul(page.text)),
            *(written_figures(page.figures), page.scanned, digest(page.picture)),
            *(written_words(words), page.picture if key is None else None, key),
        )
        async with self.database.transaction() as connection:
            id_ = await connection.fetchval(sql.ADD, *row)
            if id_ is not None:
                occurrences = list(counts), list(counts.values())
                await connection.execute(sql.ADD_WORDS, self.collection, id_, *occurrences)
        return id_ is not None

    def _put(self, sha256: str, page: DrawnPage) -> str | None:
        """Store a picture as a new object, and return its key; None if it belongs in the row."""
        if self.objects is None or not page.picture:
            return None
        key = f"{OBJECTS}{self.collection}/{sha256}/{page.page}-{uuid.uuid4().hex}"
        self.objects.put(key, page.picture)
        return key

    def _picture(self, row: asyncpg.Record) -> bytes | None:
        """Return the picture of a row; None if it was deleted, or is in another object store."""
        if row["object_key"] is None:
            return bytes(row["picture"])
        return self.objects.get(row["object_key"]) if self.objects else None

    def _rows(self, statement: str, *arguments: Any) -> list[asyncpg.Record]:  # noqa: ANN401 - of any type
        return self.database.rows(statement, self.collection, *arguments)


def _tokens(query: str) -> dict[str, str]:
    """Return the words of a question, each with its token; empty: none that pages can have."""
    words = words_of(query)
    return {
        word: next(iter(tokens), "") for word, tokens in zip(words, tokens_of(words), strict=True)
    }


def _listed(documents: Collection[str] | None) -> list[str] | None:
    return None if documents is None else list(documents)


def _vector(values: NDArray[np.float16] | Vectors) -> str:
    return f"[{','.join(repr(float(value)) for value in values)}]"


def _without_nul(text: str) -> str:
    """Return a text that PostgreSQL takes, with the same words."""
    return text.replace("\0", " ")
