"""The documents of a store: brought in, listed, deleted."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from datetime import datetime
from types import MappingProxyType

from heddle_knowledge.chunking.options import Chunking
from heddle_knowledge.collection.handle import CollectionHandle
from heddle_knowledge.collection.names import check_document_name, is_document_id
from heddle_knowledge.collection.tables import (
    find_document,
    find_documents,
    list_documents,
    name_of_document,
)
from heddle_knowledge.collection.types import Collection, Document, Ingested, IngestProgress
from heddle_knowledge.engines.conditions import Compare
from heddle_knowledge.errors import DocumentNotFoundError
from heddle_knowledge.ingestion import ingestion
from heddle_knowledge.ingestion.commits import Commits
from heddle_knowledge.ingestion.embedding_batches import Batches
from heddle_knowledge.store.context import StoreContext

_NOTHING: Mapping[str, str] = MappingProxyType({})
_PAGE_SIZE = 1_000


class Documents:
    """The documents of all embedded collections.

    Every method that takes a collection raises `CollectionNotFoundError` if there is none, and
    `ForeignBackendError` if another backend holds it.
    """

    def __init__(self, context: StoreContext, committed: Callable[[str, int], None]) -> None:
        """Take the parts of the store.

        `committed` receives the collection's id and the number of rows of every commit.
        """
        self._context = context
        self._committed = committed
        self._latest: tuple[tuple[str, int], Sequence[Document]] = ("", 0), ()
        self._shared = ingestion.Shared(Batches("passage"), Commits(committed))

    async def ingest(  # noqa: PLR0913 - a document has so many properties
        self,
        collection: str,
        name: str,
        data: bytes,
        *,
        media_type: str = "",
        uri: str = "",
        metadata: Mapping[str, str] = _NOTHING,
        document_time: datetime | None = None,
        chunking: Chunking | None = None,
    ) -> AsyncGenerator[IngestProgress | Ingested]:
        """Ingest a document, in place of an earlier one of its name.

        Args:
            collection: The collection.
            name: Its name in the collection; ingesting the same name again replaces it.
            data: The file, at most 32 MiB.
            media_type: Its type, with or without a charset; empty: by the name.
            uri: Where it can be found, for sources.
            metadata: Whatever belongs to it; comes back with every passage.
            document_time: The time that it is of, with a zone; None: as the document says, else
                that of the ingestion.
            chunking: How it is cut; None: as the collection says.

        Yields:
            Progress, and last, exactly once, the acknowledgement. Until that nothing has changed,
            whoever crashes; from then on the document is on disk and found. The same content
            again is acknowledged as unchanged and costs nothing; of a document that changed only
            what changed is embedded.

        Raises:
            EmbedderMismatchError: Another embedder filled it.
            InvalidInputError: The name breaks a rule.
            UnreadableDocumentError: No text can be taken from the document.
            EmbeddingError: The embedder failed.
            StorageError: The commit failed.
        """
        handle, embedder = await self._context.searchable(collection)
        source = ingestion.Source(name, data, media_type, uri, metadata, document_time, chunking)
        source.check()
        async with AsyncExitStack() as held:
            scans = ingestion.NO_SCANS
            if source.is_pdf:
                sha256 = await asyncio.to_thread(lambda: source.sha256)
                await held.enter_async_context(
                    self._context.pages.place.holding(handle.collection.id, sha256)
                )
                drawing = self._context.pages.bring(handle.collection, data, sha256)
                async for progress in await held.enter_async_context(aclosing(drawing)):
                    yield progress
                pages = self._context.pages.place.of(handle.collection.id)
                texts = await pages.scanned(sha256)
                scans = ingestion.Scans(texts, None if texts else self._context.pages.recognise)
            events = ingestion.ingest(
                handle,
                source,
                parser=self._context.parser,
                embedder=embedder,
                shared=self._shared,
                graph=self._context.graphs.of(handle.collection),
                scans=scans,
            )
            async for event in await held.enter_async_context(aclosing(events)):
                yield event

    async def get(self, collection: str, name: str) -> Document:
        """Return a document as it was last ingested.

        Raises:
            DocumentNotFoundError: There is no such document.
        """
        check_document_name(name)
        handle = await self._context.open(collection)
        async with handle.using():
            return await _present(handle, name)

    async def present(self, collection: str, names: Sequence[str]) -> set[str]:
        """Return those of some names that documents have.

        Raises:
            InvalidInputError: One of them can be no name.
        """
        for name in names:
            check_document_name(name)
        handle = await self._context.open(collection)
        if not names:
            return set()
        async with handle.using():
            return set(await find_documents(handle.table, names))

    async def name_of(self, collection: str, reference: str) -> str:
        """Return the name of a document from its identifier; a name stands for itself.

        Raises:
            DocumentNotFoundError: No document has the identifier.
        """
        if not is_document_id(reference):
            return reference
        handle = await self._context.open(collection)
        async with handle.using():
            name = await name_of_document(handle.table, reference)
        if name is None:
            raise _no_document(handle.collection, reference)
        return name

    async def listed(self, collection: str, after: str = "", limit: int = 100) -> list[Document]:
        """Return the documents whose names sort after a name, in the order of their UTF-8 bytes.

        Raises:
            InvalidInputError: `after` cannot be a name.
        """
        if after:
            check_document_name(after)
        handle = await self._context.open(collection)
        async with handle.using():
            return await list_documents(handle.table, after, limit)

    async def all(self, collection: str) -> Sequence[Document]:
        """Return all documents of a collection by name; the last ones are remembered."""
        handle = await self._context.open(collection)
        async with handle.using():
            version = handle.collection.id, await handle.table.version()
            if self._latest[0] == version:
                return self._latest[1]
            documents: list[Document] = []
            while page := await list_documents(
                handle.table, documents[-1].name if documents else "", _PAGE_SIZE
            ):
                documents += page
        if len(documents) <= 10 * _PAGE_SIZE:
            self._latest = version, documents
        return documents

    async def delete(self, collection: str, name: str) -> None:
        """Delete a document.

        Raises:
            DocumentNotFoundError: There is no such document.
        """
        check_document_name(name)
        handle = await self._context.open(collection)
        async with handle.writing():
            gone = await _present(handle, name)
            await handle.registry.note_deletion(handle.collection.id)
            # Before the document: after a crash in between, a further call deletes the rest.
            if graph := self._context.graphs.of(handle.collection):
                await graph.parts.settle(name, gone.sha256)
            await handle.table.delete(Compare("document", "=", name))
        self._committed(handle.collection.id, 0)

    async def aclose(self) -> None:
        """End; documents whose commit is not through fail."""
        await self._shared.aclose()


async def _present(handle: CollectionHandle, name: str) -> Document:
    document = await find_document(handle.table, name)
    if document is None:
        raise _no_document(handle.collection, name)
    return document


def _no_document(collection: Collection, reference: str) -> DocumentNotFoundError:
    return DocumentNotFoundError(
        f"The collection {collection.name!r} has no document {reference!r}. List its documents."
    )
