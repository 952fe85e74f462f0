"""The pages of one collection: rows of a database, their pictures there or in an object store.

A page is stored under the SHA-256 of the document that it is of, so it is right as long as it is
there, whichever version of a document is current. A document's pages come before the document and
go after it: a crash in between leaves pages that nobody asks for, and the next ingestion goes on
from them.

`documents` and `whole_page` read all that a collection has, and `expect`, `add` and `finish` write
it, also for a restore. All of these may be repeated after an interruption.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import structlog
from heddle_runtime.errors import StorageError
from heddle_runtime.storage.database.inserting import insertion
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Row, delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_knowledge.database.opening import KnowledgeDatabase
from heddle_knowledge.database.row_objects import RowObjects
from heddle_knowledge.database.schema import paged_documents, pages
from heddle_knowledge.pages.encoding import (
    digest,
    read_words,
    summary,
    written_words,
)
from heddle_knowledge.pages.page_search import PageSearch
from heddle_knowledge.pages.shapes import DrawnPage, Picture

_PART = 200
"""Pages that are deleted at once."""
_PAGES, _DOCUMENTS = pages.c, paged_documents.c
log = structlog.get_logger(__name__)


class CollectionPages:
    """The pages of a collection, by the SHA-256 of the document that they are of.

    Methods raise `StorageError`.
    """

    def __init__(self, database: KnowledgeDatabase, objects: RowObjects, collection: str) -> None:
        self.search = PageSearch(database, collection)
        self._database = database
        self._objects = objects
        self._collection = collection

    async def documents(self) -> dict[str, Row[*tuple[Any, ...]]]:
        """Return by SHA-256 the rows of documents that have pages here, or are to have."""
        columns = _DOCUMENTS.sha256, _DOCUMENTS.maker, _DOCUMENTS.pages, _DOCUMENTS.whole
        query = select(*columns).where(_DOCUMENTS.collection == self._collection)
        rows = await self._database.rows(query.order_by(_DOCUMENTS.sha256))
        return {row.sha256: row for row in rows}

    async def numbers(self, sha256: str) -> list[int]:
        """Return the stored pages of a document, counted from 1, in their order."""
        query = select(_PAGES.page).where(*self._of(sha256)).order_by(_PAGES.page)
        return [row.page for row in await self._database.rows(query)]

    async def whole_page(
        self, sha256: str, page: int
    ) -> tuple[DrawnPage, NDArray[np.float16]] | None:
        """Return all that is stored of a page, and of its words the vectors."""
        for row in await self._database.rows(
            select(pages).where(*self._of(sha256), _PAGES.page == page)
        ):
            picture = await self._picture(row) or b""
            drawn = DrawnPage(page, picture, row.text, tuple(row.figures), row.scanned)
            return drawn, read_words(row.words, len(row.summary or b"") // 2)
        return None

    async def expect(self, sha256: str, maker: str, count: int) -> list[int]:
        """Return the pages of a document that are not stored yet, counted from 1.

        Args:
            sha256: The document.
            maker: What its pages depend on besides. Pages of another maker are deleted.
            count: How many it has.
        """
        keys: list[str] = []
        of_document = self._of_document(sha256)
        async with self._database.writing() as connection:
            known = select(_DOCUMENTS.maker).where(*of_document).with_for_update()
            if await connection.scalar(known) != maker:
                keys = await self._forget(connection, sha256)
                new = insertion(connection, paged_documents).values(
                    collection=self._collection, sha256=sha256, maker=maker, pages=count
                )
                await connection.execute(new.on_conflict_do_nothing())
            query = select(_PAGES.page).where(*self._of(sha256))
            stored = set(await connection.scalars(query))
        await self._drop(keys)
        return [page for page in range(1, count + 1) if page not in stored]

    async def add(
        self, sha256: str, drawn: Sequence[DrawnPage], words: Sequence[NDArray[np.float16]]
    ) -> None:
        """Store pages of an expected document that are not stored yet, durably.

        Args:
            sha256: The document.
            drawn: The pages with their pictures.
            words: For each page the vectors of its words.
        """
        place = f"{self._collection}/{sha256}"
        keys = [
            await self._objects.put(f"{place}/{page.page}", page.picture) if page.picture else None
            for page in drawn
        ]
        expected = select(_DOCUMENTS.sha256).where(*self._of_document(sha256))
        unused = keys
        # Whether the rows are there may stay unknown; then the objects stay, for a later look.
        async with self._database.writing() as connection:
            locked = expected.with_for_update(read=True, key_share=True)
            if await connection.scalar(locked) is not None:
                unused = [
                    key
                    for page, vectors, key in zip(drawn, words, keys, strict=True)
                    if not await self._add(connection, sha256, page, vectors, key)
                ]
        await self._drop(unused)

    async def finish(self, sha256: str) -> bool:
        """Store that a document needs no more work; say whether it is still there."""
        whole = update(paged_documents).where(*self._of_document(sha256)).values(whole=True)
        async with self._database.writing() as connection:
            return bool((await connection.execute(whole)).rowcount)

    async def is_whole(self, sha256: str, maker: str) -> bool:
        """Return whether all pages of a document are stored, those of this maker."""
        of_maker = _DOCUMENTS.maker == maker, _DOCUMENTS.whole
        query = select(_DOCUMENTS.sha256).where(*self._of_document(sha256), *of_maker)
        return bool(await self._database.rows(query))

    async def pictured(self, documents: Collection[str]) -> frozenset[tuple[str, int]]:
        """Return the pages of some documents that have a picture."""
        query = select(_PAGES.sha256, _PAGES.page).where(
            self._here, _PAGES.sha256.in_(documents), _PAGES.picture_sha256 != ""
        )
        return frozenset((row.sha256, row.page) for row in await self._database.rows(query))

    async def count_pictures(self) -> int:
        """Return the number of pages with a picture."""
        query = select(func.count()).where(self._here, _PAGES.picture_sha256 != "")
        return sum(count for (count,) in await self._database.rows(query))

    async def scanned(self, sha256: str) -> Mapping[int, str]:
        """Return the texts of the pages of a document that were read off their pictures."""
        query = select(_PAGES.page, _PAGES.text).where(*self._of(sha256), _PAGES.scanned)
        return {row.page: row.text for row in await self._database.rows(query)}

    async def picture(self, sha256: str, page: int) -> Picture | None:
        """Return the picture of a page, if there is one."""
        columns = _PAGES.picture, _PAGES.object_key, _PAGES.picture_sha256
        query = select(*columns).where(
            *self._of(sha256), _PAGES.page == page, _PAGES.picture_sha256 != ""
        )
        for row in await self._database.rows(query):
            if (data := await self._picture(row)) is not None:
                return Picture(data, row.picture_sha256)
        return None

    async def page(self, sha256: str, page: int) -> DrawnPage | None:
        """Return a page without its picture."""
        query = select(_PAGES.text, _PAGES.figures).where(*self._of(sha256), _PAGES.page == page)
        for row in await self._database.rows(query):
            return DrawnPage(page, text=row.text, figures=tuple(row.figures))
        return None

    async def listed(self, sha256: str, first: int, last: int) -> dict[int, tuple[str, bool]]:
        """Return of stored pages of a document their text, and whether they have a picture."""
        query = select(_PAGES.page, _PAGES.text, _PAGES.picture_sha256).where(
            *self._of(sha256), _PAGES.page.between(first, last)
        )
        return {
            row.page: (row.text, bool(row.picture_sha256))
            for row in await self._database.rows(query)
        }

    async def makers(self) -> set[str]:
        """Return the versions of models and readers on which the stored pages depend."""
        query = select(_DOCUMENTS.maker).where(_DOCUMENTS.collection == self._collection)
        return {row.maker for row in await self._database.rows(query.distinct())}

    async def forget(self, documents: Iterable[str]) -> None:
        """Delete the pages of documents."""
        for sha256 in documents:
            async with self._database.writing() as connection:
                keys = await self._forget(connection, sha256)
            await self._drop(keys)

    @property
    def _here(self) -> ColumnElement[bool]:
        return _PAGES.collection == self._collection

    def _of(self, sha256: str) -> tuple[ColumnElement[bool], ...]:
        return self._here, _PAGES.sha256 == sha256

    def _of_document(self, sha256: str) -> tuple[ColumnElement[bool], ...]:
        return _DOCUMENTS.collection == self._collection, _DOCUMENTS.sha256 == sha256

    async def _forget(self, connection: AsyncConnection, sha256: str) -> list[str]:
        """Delete the pages of a document; return the keys of their pictures."""
        keys: list[str] = []
        part = select(_PAGES.id).where(*self._of(sha256)).limit(_PART)
        deletion = delete(pages).where(_PAGES.id.in_(part)).returning(_PAGES.object_key)
        while deleted := (await connection.scalars(deletion)).all():
            keys += [key for key in deleted if key is not None]
        await connection.execute(delete(paged_documents).where(*self._of_document(sha256)))
        return keys

    async def _add(
        self,
        connection: AsyncConnection,
        sha256: str,
        page: DrawnPage,
        words: NDArray[np.float16],
        key: str | None,
    ) -> bool:
        new = insertion(connection, pages).values(
            collection=self._collection,
            sha256=sha256,
            page=page.page,
            summary=summary(words).tobytes() or None,
            text=page.text.replace("\0", " "),  # PostgreSQL takes none
            figures=page.figures,
            scanned=page.scanned,
            picture_sha256=digest(page.picture),
            words=written_words(words),
            picture=page.picture if key is None else None,
            object_key=key,
        )
        added = new.on_conflict_do_nothing().returning(_PAGES.id)
        return await connection.scalar(added) is not None

    async def _picture(self, row: Row[*tuple[Any, ...]]) -> bytes | None:
        """Return the picture of a row; None if it was deleted, or is in another object store."""
        if row.object_key is None:
            return bytes(row.picture)
        return await self._objects.get(row.object_key)

    async def _drop(self, keys: Iterable[str | None]) -> None:
        """Delete pictures that no page has any more. Those that stay are deleted later."""
        try:
            await self._objects.delete(*keys)
        except StorageError as error:
            log.warning("pictures of pages not deleted", diagnosis=error.diagnosis)
