"""The knowledge store: collections of documents in one place, searched by meaning and words.

Several processes may open the same place; each sees at once what the others commit. Writers
exclude each other per collection, and only for the moment of a commit.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from heddle_tools_service.knowledge import ingestion
from heddle_tools_service.knowledge.catalogue import new_collection
from heddle_tools_service.knowledge.embedding import Embedder
from heddle_tools_service.knowledge.engines.address import open_engine
from heddle_tools_service.knowledge.engines.conditions import EVERYTHING, Compare, Condition
from heddle_tools_service.knowledge.errors import (
    CollectionNotFoundError,
    DocumentNotFoundError,
    EmbedderMismatchError,
    ForeignBackendError,
    InvalidInputError,
)
from heddle_tools_service.knowledge.maintenance import Maintenance
from heddle_tools_service.knowledge.names import (
    check_collection_name,
    check_document_name,
    document_id,
    is_document_id,
)
from heddle_tools_service.knowledge.parsing import Parser
from heddle_tools_service.knowledge.passages import list_passages
from heddle_tools_service.knowledge.records import (
    EMBEDDED,
    Collection,
    CollectionSize,
    Document,
    Ingested,
    IngestProgress,
    Mode,
    Passage,
    Statistics,
)
from heddle_tools_service.knowledge.search import find
from heddle_tools_service.knowledge.shelf import Shelf
from heddle_tools_service.knowledge.shelves import Shelves, open_shelves
from heddle_tools_service.knowledge.statistics import counted
from heddle_tools_service.knowledge.tables import find_document, list_documents
from heddle_tools_service.knowledge.upkeep import Upkeep

MOST_RESULTS = 1_000
"""Entries that one page of a list, or one search, may have."""
_ANN_ROWS = 20_000
_QUIET_SECONDS = 2.0
_NOTHING: Mapping[str, str] = MappingProxyType({})


@asynccontextmanager
async def open_store(
    place: Path | str,
    embedder: Embedder,
    *,
    options: Mapping[str, str] = _NOTHING,
    ann_rows: int = _ANN_ROWS,
    quiet_seconds: float = _QUIET_SECONDS,
) -> AsyncGenerator["KnowledgeStore"]:
    """Open the store at a place; a directory is made if it is missing.

    Args:
        place: A directory, on a local file system, for it holds locks; `s3://BUCKET/PREFIX`; or
            `postgresql://…`.
        embedder: Makes the vectors. It stays the caller's to close.
        options: What an object store needs besides.
        ann_rows: From how many chunks on a collection gets an approximate vector index.
        quiet_seconds: How long a collection rests after a commit before it is put in order.

    Yields:
        The store; leaving the block closes it, and ends ingestions that still run.

    Raises:
        StorageError: The place cannot be used.
    """
    parser = Parser()
    try:
        async with (
            open_engine(str(place), options) as engine,
            open_shelves(engine) as shelves,
        ):
            upkeep = Upkeep(str(place), options, ann_rows)
            store = KnowledgeStore(shelves, embedder, parser, upkeep, quiet_seconds)
            try:
                yield store
            finally:
                await store.aclose()
    finally:
        await parser.aclose()


class KnowledgeStore:
    """An open store. Made by `open_store`."""

    def __init__(
        self,
        shelves: Shelves,
        embedder: Embedder,
        parser: Parser,
        upkeep: Upkeep,
        quiet_seconds: float,
    ) -> None:
        self._shelves = shelves
        self._embedder = embedder
        self._parser = parser
        self._upkeep = upkeep
        self._maintenance = Maintenance(upkeep.tidy, quiet_seconds=quiet_seconds)

    async def create_collection(
        self,
        name: str,
        *,
        title: str = "",
        backend: str = EMBEDDED,
        settings: Mapping[str, str] = _NOTHING,
        **more: Any,  # noqa: ANN401 - the fields of the record
    ) -> Collection:
        """Make an empty collection, or register one that another backend holds.

        Args:
            name: 1 to 63 of `A-Za-z0-9_.-`, the first a letter or digit.
            title: For people.
            backend: `embedded`, or the name of another backend.
            settings: What that backend needs to find it; never a secret.
            more: Whose it is and how its documents are treated, as fields of `Collection`.

        Raises:
            InvalidInputError: The name or the backend's name breaks the rule.
            CollectionExistsError: The organisation has a collection of this name.
        """
        check_collection_name(name)
        check_collection_name(backend)
        made = new_collection(name, title, backend, settings, self._embedder.info(), **more)
        made.chunking.check()
        await self._shelves.add(made)
        return made

    async def get_collection(self, name: str) -> Collection:
        """Return a collection by its id, or one of the operator's by its name.

        Wherever the store asks for a collection, it takes either. Whoever acts for somebody finds
        the id with `access.meant`.

        Raises:
            CollectionNotFoundError: There is none.
        """
        return await self._shelves.catalogue.get(name)

    async def all_collections(self) -> Mapping[str, Collection]:
        """Return the collections of everybody, by id."""
        return await self._shelves.catalogue.all()

    async def list_collections(self, after: str = "", limit: int = 100) -> list[Collection]:
        """Return the operator's collections whose names sort after a name, in that order.

        Raises:
            InvalidInputError: The limit is not 1 to 1,000.
        """
        _check_count("limit", limit)
        every = (await self._shelves.catalogue.all()).values()
        wanted = [it for it in every if not it.organization and it.name > after]
        return sorted(wanted, key=lambda it: it.name)[:limit]

    async def change_collection(self, changed: Collection) -> None:
        """Keep a collection's title, sharing and metadata as they are now.

        Raises:
            CollectionNotFoundError: It was deleted meanwhile.
        """
        await self._shelves.change(changed)

    async def collection_size(self, name: str) -> CollectionSize:
        """Return how much an embedded collection holds.

        Raises:
            CollectionNotFoundError: There is none of this name.
            ForeignBackendError: Another backend holds it.
        """
        shelf = await self._shelf(name)
        async with shelf.using():
            documents = await shelf.table.count(Compare("ordinal", "=", 0))
            return CollectionSize(documents, await shelf.table.count())

    async def statistics(self, name: str) -> Statistics:
        """Return what an embedded collection holds.

        Raises:
            CollectionNotFoundError: There is none of this name.
            ForeignBackendError: Another backend holds it.
        """
        return await counted(await self._shelf(name))

    async def delete_collection(self, name: str) -> None:
        """Delete a collection with all of its documents, or only the record of a foreign one.

        Raises:
            CollectionNotFoundError: There is none of this name.
        """
        await self._shelves.remove(await self._shelves.catalogue.get(name))

    async def ingest(
        self,
        collection: str,
        name: str,
        data: bytes,
        *,
        media_type: str = "",
        uri: str = "",
        metadata: Mapping[str, str] = _NOTHING,
        document_time: datetime | None = None,
    ) -> AsyncGenerator[IngestProgress | Ingested]:
        """Bring a document in, new or in place of the one of its name.

        Args:
            collection: Where to.
            name: What it is called there; ingesting the same name again replaces it.
            data: The file, at most 32 MiB.
            media_type: Its type, with or without a charset; empty: by the name.
            uri: Where it can be found, for sources.
            metadata: Whatever belongs to it; comes back with every passage.
            document_time: The time that it is of, with a zone; None: as the document says, else
                that of the ingestion.

        Yields:
            Progress, and last, exactly once, the acknowledgement. Until that nothing has changed,
            whoever crashes; from then on the document is on disk and found. The same content
            again is acknowledged as unchanged and costs nothing; of a document that changed only
            what changed is embedded.

        Raises:
            CollectionNotFoundError: There is no such collection, or it was deleted meanwhile.
            ForeignBackendError: Another backend holds it.
            EmbedderMismatchError: Another embedder filled it.
            InvalidInputError: The name, the URI or the metadata breaks a rule.
            UnreadableDocumentError: No text can be taken from the document.
            EmbeddingError: The embedder failed.
            StorageError: The commit failed.
        """
        shelf = await self._searchable(collection)
        source = ingestion.Source(name, data, media_type, uri, metadata, document_time)
        events = ingestion.ingest(shelf, source, parser=self._parser, embedder=self._embedder)
        async with aclosing(events):
            async for event in events:
                if isinstance(event, Ingested) and not event.unchanged:
                    self._maintenance.committed(collection)
                yield event

    async def get_document(self, collection: str, name: str) -> Document:
        """Return a document as it was last ingested.

        Raises:
            CollectionNotFoundError: There is no such collection.
            ForeignBackendError: Another backend holds it.
            DocumentNotFoundError: There is no such document.
        """
        check_document_name(name)
        shelf = await self._shelf(collection)
        async with shelf.using():
            return await _present(shelf, name)

    async def document_name(self, collection: str, reference: str) -> str:
        """Return the name of a document from its identifier; a name stands for itself.

        Raises:
            CollectionNotFoundError: There is no such collection.
            ForeignBackendError: Another backend holds it.
            DocumentNotFoundError: No document has the identifier.
        """
        if not is_document_id(reference):
            return reference
        shelf = await self._shelf(collection)
        async with shelf.using():
            after = ""
            while page := await list_documents(shelf.table, after, MOST_RESULTS):
                for each in page:
                    if document_id(shelf.collection.id, each.name) == reference:
                        return each.name
                after = page[-1].name
        raise no_document(shelf.collection, reference)

    async def list_documents(
        self, collection: str, after: str = "", limit: int = 100
    ) -> list[Document]:
        """Return the documents whose names sort after a name, in the order of their UTF-8 bytes.

        Raises:
            CollectionNotFoundError: There is no such collection.
            ForeignBackendError: Another backend holds it.
            InvalidInputError: The limit is not 1 to 1,000, or `after` cannot be a name.
        """
        _check_count("limit", limit)
        if after:
            check_document_name(after)
        shelf = await self._shelf(collection)
        async with shelf.using():
            return await list_documents(shelf.table, after, limit)

    async def list_passages(
        self, collection: str, document: Document, first: int = 0, limit: int = 100
    ) -> list[Passage]:
        """Return the passages of a document from an ordinal on; their scores are 0.

        Args:
            collection: Where it is.
            document: As `get_document` returned it; of another version there are none.
            first: The ordinal of the first passage.
            limit: At most so many, 1 to 1,000.

        Raises:
            CollectionNotFoundError: There is no such collection.
            ForeignBackendError: Another backend holds it.
            InvalidInputError: The limit is another.
        """
        _check_count("limit", limit)
        shelf = await self._shelf(collection)
        async with shelf.using():
            return await list_passages(shelf.table, document, first, limit)

    async def delete_document(self, collection: str, name: str) -> None:
        """Delete a document.

        Raises:
            CollectionNotFoundError: There is no such collection.
            ForeignBackendError: Another backend holds it.
            DocumentNotFoundError: There is no such document.
        """
        check_document_name(name)
        shelf = await self._shelf(collection)
        async with shelf.writing():
            await _present(shelf, name)
            await shelf.table.delete(Compare("document", "=", name))
        self._maintenance.committed(collection)

    async def search(
        self,
        collection: str,
        query: str,
        *,
        top_k: int,
        threshold: float = 0.0,
        mode: Mode = "hybrid",
        where: Condition = EVERYTHING,
    ) -> list[Passage]:
        """Find passages for a question.

        Args:
            collection: Where to look.
            query: The question; its first 256 tokens count for the meaning.
            top_k: At most so many passages, 1 to 1,000.
            threshold: Leave out passages whose `score`, the cosine similarity, is lower. 0 leaves
                out none, so that a match by words alone is not lost unasked.
            mode: `hybrid` by meaning and words, `vector` by meaning, `text` by words (BM25).
            where: Which passages may be found, see `filters.matching`.

        Returns:
            Passages of documents as they are now, the most relevant first; none for a blank query.

        Raises:
            CollectionNotFoundError: There is no such collection.
            ForeignBackendError: Another backend holds it.
            EmbedderMismatchError: Another embedder filled it.
            InvalidInputError: `top_k` or `mode` is not one of those allowed.
            EmbeddingError: The embedder failed.
        """
        _check_count("top_k", top_k)
        if mode not in {"hybrid", "vector", "text"}:
            raise InvalidInputError(
                f"There is no search mode {mode!r}. Use 'hybrid', 'vector' or 'text'."
            )
        shelf = await self._searchable(collection)
        query = query.encode(errors="replace").decode().strip()
        if not query:
            return []
        (vector,) = await self._embedder.embed([query], "query")
        async with shelf.using():
            return await find(
                shelf.table,
                query,
                vector,
                top_k=top_k,
                threshold=threshold,
                mode=mode,
                where=where,
            )

    async def tidy(self, collection: str) -> None:
        """Put a collection's files in order now; otherwise this happens in the background.

        Raises:
            ForeignBackendError: Another backend holds it.
            StorageError: It failed; nothing is lost.
        """
        with suppress(CollectionNotFoundError):
            await self._shelf(collection)
            await self._upkeep.tidy(collection)

    async def has_vector_index(self, collection: str) -> bool:
        """Say whether a collection's vectors are searched through an approximate index.

        Raises:
            CollectionNotFoundError: There is no such collection.
            ForeignBackendError: Another backend holds it.
        """
        shelf = await self._shelf(collection)
        async with shelf.using():
            return await shelf.table.has_vector_index()

    async def aclose(self) -> None:
        """Stop background work. `open_store` calls this."""
        await self._maintenance.aclose()
        await self._upkeep.aclose()

    async def _shelf(self, name: str) -> Shelf:
        """Open an embedded collection."""
        collection = await self._shelves.catalogue.get(name)
        if collection.backend != EMBEDDED:
            raise ForeignBackendError(
                f"The collection {name!r} lives in the backend {collection.backend!r}. Use it "
                "through that backend."
            )
        return await self._shelves.open(collection)

    async def _searchable(self, name: str) -> Shelf:
        """Open a collection whose vectors come from the embedder in use."""
        shelf = await self._shelf(name)
        ours, theirs = self._embedder.info(), shelf.collection
        if (ours.model, ours.dim, ours.revision) != (theirs.model, theirs.dim, theirs.revision):
            raise EmbedderMismatchError(
                f"The collection {name!r} was made with the embedder {theirs.model!r} "
                f"(revision {theirs.revision!r}, {theirs.dim} dimensions), but {ours.model!r} "
                f"(revision {ours.revision!r}, {ours.dim} dimensions) is configured. Configure "
                "the former, or delete the collection and ingest its documents again."
            )
        return shelf


async def _present(shelf: Shelf, name: str) -> Document:
    found = await find_document(shelf.table, name)
    if found is None:
        raise no_document(shelf.collection, name)
    return found.document


def no_document(collection: Collection, reference: str) -> DocumentNotFoundError:
    """Return the error for a document that is not there."""
    return DocumentNotFoundError(
        f"The collection {collection.name!r} has no document {reference!r}. List its documents."
    )


def _check_count(what: str, count: int) -> None:
    if not 1 <= count <= MOST_RESULTS:
        raise InvalidInputError(f"{what} must be 1 to {MOST_RESULTS:,}, not {count}.")
