"""The knowledge store: collections of documents in one place, searched by meaning and words.

Several processes may open the same place; each sees at once what the others commit. Writers
exclude each other per collection, and only for the moment of a commit.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

from heddle_tools_service.knowledge import ingestion
from heddle_tools_service.knowledge.catalogue import new_collection
from heddle_tools_service.knowledge.embedding import Embedder, WordEmbedder
from heddle_tools_service.knowledge.engines.address import open_engine
from heddle_tools_service.knowledge.engines.conditions import EVERYTHING, Compare, Condition
from heddle_tools_service.knowledge.errors import (
    CollectionNotFoundError,
    DocumentNotFoundError,
    EmbedderMismatchError,
    ForeignBackendError,
    InvalidInputError,
    RerankingError,
)
from heddle_tools_service.knowledge.graph.graphs import Graphs
from heddle_tools_service.knowledge.graph.records import Answer, AskPaths, AskThemes, Held, Part
from heddle_tools_service.knowledge.maintenance import Maintenance
from heddle_tools_service.knowledge.names import (
    check_collection_name,
    check_document_name,
    document_id,
    is_document_id,
)
from heddle_tools_service.knowledge.pages.keeper import PageKeeper, sha256_of
from heddle_tools_service.knowledge.pages.models import OcrPageModel, PageModel, PageModelInfo
from heddle_tools_service.knowledge.pages.reader import PageReader
from heddle_tools_service.knowledge.pages.shapes import DrawnPage, Picture
from heddle_tools_service.knowledge.parsing import Parser
from heddle_tools_service.knowledge.passages import list_passages
from heddle_tools_service.knowledge.records import (
    EMBEDDED,
    Collection,
    CollectionSize,
    Document,
    FoundPage,
    Ingested,
    IngestProgress,
    Mode,
    Passage,
    SearchOptions,
    Statistics,
)
from heddle_tools_service.knowledge.reranking import Reranker
from heddle_tools_service.knowledge.search import Question, find
from heddle_tools_service.knowledge.shelf import Shelf
from heddle_tools_service.knowledge.shelves import Shelves, open_shelves
from heddle_tools_service.knowledge.statistics import counted
from heddle_tools_service.knowledge.tables import (
    all_contents,
    documents_of,
    find_document,
    list_documents,
)
from heddle_tools_service.knowledge.upkeep import Upkeep

MOST_RESULTS = 1_000
"""Entries that one page of a list, or one search, may have."""
_ANN_ROWS = 20_000
_QUIET_SECONDS = 2.0
_AS_USUAL = SearchOptions()
_NOTHING: Mapping[str, str] = MappingProxyType({})
_AS_USUAL = SearchOptions()
_NO_SCANS: Mapping[int, str] = MappingProxyType({})


@asynccontextmanager
async def open_store(  # noqa: PLR0913 - what a store is made of, each by its name
    place: Path | str,
    embedder: Embedder,
    *,
    others: Sequence[Embedder] = (),
    reranker: Reranker | None = None,
    options: Mapping[str, str] = _NOTHING,
    graphs: Path | None = None,
    ann_rows: int = _ANN_ROWS,
    quiet_seconds: float = _QUIET_SECONDS,
    page_model: Callable[[PageReader], PageModel] = OcrPageModel,
    pages: Path | None = None,
) -> AsyncGenerator["KnowledgeStore"]:
    """Open the store at a place; a directory is made if it is missing.

    Args:
        place: A directory, on a local file system, for it holds locks; `s3://BUCKET/PREFIX`; or
            `postgresql://…`.
        embedder: Makes the vectors of collections that name no other. It stays the caller's to
            close.
        others: Embedders that a collection may name instead, by their models; likewise.
        reranker: The model of searches that ask for one; likewise.
        options: What an object store needs besides.
        graphs: The directory of graphs, on a local file system. Without it they are beside the
            collections if these are in a directory, and otherwise none are drawn.
        ann_rows: From how many chunks on a collection gets an approximate vector index.
        quiet_seconds: How long a collection rests after a commit before it is put in order.
        page_model: Makes what ranks pages.
        pages: The folder for pages, on a local file system, of this store alone. Without: beside
            the collections; of a store on a server they last as long as it is open.

    Yields:
        The store; leaving the block closes it, and ends ingestions that still run.

    Raises:
        StorageError: The place cannot be used.
    """
    parser = Parser()
    if graphs is None and "://" not in str(place):
        graphs = Path(place) / "graphs"
    drawn = Graphs(graphs.resolve() if graphs else None)
    reader = PageReader()
    model = page_model(reader)
    try:
        async with AsyncExitStack() as opened:
            engine = await opened.enter_async_context(open_engine(str(place), options))
            shelves = await opened.enter_async_context(open_shelves(engine))
            await drawn.sweep(await shelves.catalogue.all())
            folder = pages or _pages_folder(place, opened)
            keeper = PageKeeper(folder, reader, model)
            upkeep = Upkeep(str(place), options, ann_rows)
            store = KnowledgeStore(
                shelves,
                embedders=(embedder, *others),
                parser=parser,
                graphs=drawn,
                pages=keeper,
                upkeep=upkeep,
                reranker=reranker,
                quiet_seconds=quiet_seconds,
            )
            await keeper.sweep_collections(store.all_collections)
            try:
                yield store
            finally:
                await store.aclose()
    finally:
        await drawn.aclose()
        await parser.aclose()
        await reader.aclose()
        await model.aclose()


def _pages_folder(place: Path | str, opened: AsyncExitStack) -> Path:
    if "://" not in str(place):
        return Path(place).resolve() / "pages"
    return Path(opened.enter_context(TemporaryDirectory(prefix="heddle-pages-")))


class KnowledgeStore:
    """An open store. Made by `open_store`."""

    def __init__(  # noqa: PLR0913 - what it works with, each by its name
        self,
        shelves: Shelves,
        *,
        embedders: Sequence[Embedder],
        parser: Parser,
        graphs: Graphs,
        pages: PageKeeper,
        upkeep: Upkeep,
        reranker: Reranker | None,
        quiet_seconds: float,
    ) -> None:
        self._shelves = shelves
        self._embedders = {embedder.info().model: embedder for embedder in embedders}
        self._default = embedders[0].info().model
        self._parser = parser
        self._graphs = graphs
        self._pages = pages
        self._upkeep = upkeep
        self._reranker = reranker
        self._maintenance = Maintenance(self.tidy, quiet_seconds=quiet_seconds)

    async def create_collection(
        self,
        name: str,
        *,
        title: str = "",
        backend: str = EMBEDDED,
        settings: Mapping[str, str] = _NOTHING,
        embedding_model: str = "",
        **more: Any,  # noqa: ANN401 - the fields of the record
    ) -> Collection:
        """Make an empty collection, or register one that another backend holds.

        Args:
            name: 1 to 63 of `A-Za-z0-9_.-`, the first a letter or digit.
            title: For people.
            backend: `embedded`, or the name of another backend.
            settings: What that backend needs to find it; never a secret.
            embedding_model: Whose vectors it gets; empty: the store's default.
            more: Whose it is and how its documents are treated, as fields of `Collection`.

        Raises:
            InvalidInputError: The name or the backend's name breaks the rule, the store does not
                offer the model, late interaction is wanted of one that cannot do it, or a graph
                of a service that draws none.
            CollectionExistsError: The organisation has a collection of this name.
        """
        check_collection_name(name)
        check_collection_name(backend)
        if more.get("graph"):
            self._graphs.check_possible()
        self._pages.check(more.get("page_handling", "pictures"))
        embedder = self._offered(embedding_model or self._default)
        made = new_collection(name, title, backend, settings, embedder.info(), **more)
        made.chunking.check()
        if made.late_interaction and not isinstance(embedder, WordEmbedder):
            raise InvalidInputError(
                f"The embedding model {made.model!r} knows no vectors of single words. Choose "
                "another, or do without late interaction."
            )
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
        shelf = await self._shelf(name)
        found = await counted(shelf)
        graph = self._graphs.of(shelf.collection)
        return replace(found, graph_names=await graph.count()) if graph else found

    async def delete_collection(self, name: str) -> None:
        """Delete a collection with all of its documents, or only the record of a foreign one.

        Raises:
            CollectionNotFoundError: There is none of this name.
        """
        collection = await self._shelves.catalogue.get(name)
        await self._shelves.remove(collection)
        await self._pages.drop(collection.id)
        if graph := self._graphs.of(collection):
            await graph.remove()

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
        shelf, embedder = await self._searchable(collection)
        source = ingestion.Source(name, data, media_type, uri, metadata, document_time)
        source.check()
        async with AsyncExitStack() as held:
            scanned = _NO_SCANS
            if source.is_pdf:
                sha256 = await asyncio.to_thread(sha256_of, data)
                await held.enter_async_context(self._pages.holding(shelf.collection, sha256))
                drawing = self._pages.bring(shelf.collection, data, sha256)
                async for progress in await held.enter_async_context(aclosing(drawing)):
                    yield progress
                scanned = await self._pages.scanned(shelf.collection, sha256)
            events = ingestion.ingest(
                shelf,
                source,
                parser=self._parser,
                embedder=embedder,
                graph=self._graphs.of(shelf.collection),
                scanned=scanned,
            )
            async for event in await held.enter_async_context(aclosing(events)):
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
            found = await _present(shelf, name)
        return (await self._with_pages(shelf, [found]))[0]

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
            found = await list_documents(shelf.table, after, limit)
        return await self._with_pages(shelf, found)

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
            gone = await _present(shelf, name)
            await shelf.table.delete(Compare("document", "=", name))
        if graph := self._graphs.of(shelf.collection):
            await graph.settle(name, gone.sha256)
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
        options: SearchOptions = _AS_USUAL,
    ) -> list[Passage]:
        """Find passages for a question.

        Args:
            collection: Where to look.
            query: The question; as many of its tokens count for the meaning as the model reads.
            top_k: At most so many passages, 1 to 1,000.
            threshold: Leave out passages whose `score`, the cosine similarity, is lower. 0 leaves
                out none, so that a match by words alone is not lost unasked, and in the mode
                `text` no number does.
            mode: `hybrid` by meaning and words, `vector` by meaning, `text` by words (BM25).
            where: Which passages may be found, see `filters.matching`.
            options: How they are ordered.

        Returns:
            Passages of documents as they are now, the most relevant first; none for a blank query.

        Raises:
            CollectionNotFoundError: There is no such collection.
            ForeignBackendError: Another backend holds it.
            EmbedderMismatchError: Another embedder filled it.
            InvalidInputError: `top_k`, `mode` or a weight is not one of those allowed.
            RerankingError: The collection keeps no vectors of words, or there is no reranking
                model, and the options ask for it.
            EmbeddingError: The embedder or the reranking model failed.
        """
        _check_count("top_k", top_k)
        if mode not in {"hybrid", "vector", "text"}:
            raise InvalidInputError(
                f"There is no search mode {mode!r}. Use 'hybrid', 'vector' or 'text'."
            )
        _check_weights(options)
        shelf, embedder = await self._searchable(collection)
        self._check_reranking(shelf.collection, options)
        query = query.encode(errors="replace").decode().strip()
        if not query:
            return []
        (vector,) = await embedder.embed([query], "query")
        words = None
        if options.reranking == "late_interaction" and isinstance(embedder, WordEmbedder):
            words = await embedder.embed_words(query)
        question = Question(query, vector, words, mode, options, self._reranker, where)
        async with shelf.using():
            found = await find(shelf.table, question, top_k=top_k, threshold=threshold)
        return await self._with_pictures(shelf, found)

    async def held_graph(self, collection: str) -> Held:
        """Return what of a collection's graph counts now, for questions to it.

        Raises:
            CollectionNotFoundError: There is no such collection.
            ForeignBackendError: Another backend holds it.
            InvalidInputError: It has no graph.
        """
        shelf = await self._shelf(collection)
        found = shelf.collection
        graph = self._graphs.of(found)
        if graph is None:
            raise InvalidInputError(
                f"The collection {found.name!r} has no graph. Make one with graph, and ingest its "
                "documents there."
            )
        parts: list[Part] = []
        after = ""
        while page := await self.list_documents(found.id, after, MOST_RESULTS):
            parts += [Part(document.name, document.sha256) for document in page]
            after = page[-1].name
        return Held(found.id, str(graph.file), parts)

    async def ask_graph(self, question: AskThemes | AskPaths) -> Answer:
        """Return what the graphs of collections say.

        Raises:
            StorageError: They cannot be read, or are too large to answer in a minute.
        """
        return await self._graphs.ask(question)

    async def search_pages(
        self, collection: str, query: str, *, top_k: int, where: Condition = EVERYTHING
    ) -> list[FoundPage]:
        """Find pages for a question, by late interaction over all that stands on them.

        Args:
            collection: Where to look; one whose page handling is `search`.
            query: The question; its first 254 tokens count.
            top_k: At most so many pages, 1 to 100.
            where: Of which documents, see `filters.matching`.

        Returns:
            Pages of documents as they are now, the best first; none for a blank query.

        Raises:
            CollectionNotFoundError: There is no such collection.
            ForeignBackendError: Another backend holds it.
            UnsuitableCollectionError: Its pages are not searched.
            EmbedderMismatchError: Another model read its pages.
            EmbeddingError: The model is not available.
        """
        _check_count("top_k", top_k)
        shelf = await self._shelf(collection)
        query = query.encode(errors="replace").decode()
        only = None
        if where != EVERYTHING:
            async with shelf.using():
                only = await all_contents(shelf.table, where)
        ranked = await self._pages.search(shelf.collection, query, only)
        async with shelf.using():
            current = await documents_of(shelf.table, {page.sha256 for page in ranked}, where)
        found = [
            FoundPage(document, page)
            for page in ranked
            for document in current
            if document.sha256 == page.sha256
        ]
        return found[:top_k]

    async def page_picture(self, collection: str, name: str, page: int) -> Picture:
        """Return the picture of a page of a document, counted from 1.

        Raises:
            CollectionNotFoundError: There is no such collection.
            ForeignBackendError: Another backend holds it.
            DocumentNotFoundError: There is no such document, or no picture of the page.
        """
        document = await self.get_document(collection, name)
        shelf = await self._shelf(collection)
        found = await self._pages.picture(shelf.collection, document.sha256, page)
        if found is None:
            raise _no_page(name, page)
        return found

    async def page(self, collection: str, name: str, page: int) -> DrawnPage:
        """Return what was read on a page of a document, counted from 1, without its picture.

        Raises:
            CollectionNotFoundError: There is no such collection.
            ForeignBackendError: Another backend holds it.
            DocumentNotFoundError: There is no such document, or nothing is kept of the page.
        """
        document = await self.get_document(collection, name)
        shelf = await self._shelf(collection)
        found = await self._pages.page(shelf.collection, document.sha256, page)
        if found is None:
            raise _no_page(name, page)
        return found

    async def count_pictures(self, collection: str) -> int:
        """Return how many pages of an embedded collection have a picture.

        Raises:
            CollectionNotFoundError: There is no such collection.
            ForeignBackendError: Another backend holds it.
        """
        return await self._pages.count_pictures((await self._shelf(collection)).collection)

    @property
    def page_model(self) -> PageModelInfo:
        """What ranks pages."""
        return self._pages.model.info()

    async def tidy(self, collection: str) -> None:
        """Put a collection's files in order now; otherwise this happens in the background.

        Raises:
            ForeignBackendError: Another backend holds it.
            StorageError: It failed; nothing is lost.
        """
        with suppress(CollectionNotFoundError):
            shelf = await self._shelf(collection)
            await self._upkeep.tidy(collection)
            async with shelf.using():
                await self._pages.sweep(shelf.collection, await all_contents(shelf.table))

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

    async def _with_pages(self, shelf: Shelf, found: list[Document]) -> list[Document]:
        """Tell how many pages documents have."""
        contents = {document.sha256 for document in found}
        counts = await self._pages.counts(shelf.collection, contents)
        return [replace(each, pages=counts.get(each.sha256, 0)) for each in found]

    async def _with_pictures(self, shelf: Shelf, found: list[Passage]) -> list[Passage]:
        """Tell of which passages there are pictures."""
        contents = {passage.sha256 for passage in found if passage.page}
        if not contents:
            return found
        drawn = await self._pages.pictured(shelf.collection, contents)
        return [
            replace(each, has_picture=(each.sha256, each.page) in drawn) if each.page else each
            for each in found
        ]

    async def _shelf(self, name: str) -> Shelf:
        """Open an embedded collection."""
        collection = await self._shelves.catalogue.get(name)
        if collection.backend != EMBEDDED:
            raise ForeignBackendError(
                f"The collection {name!r} lives in the backend {collection.backend!r}. Use it "
                "through that backend."
            )
        return await self._shelves.open(collection)

    def _offered(self, model: str) -> Embedder:
        """Return the embedder of a model.

        Raises:
            InvalidInputError: There is none.
        """
        if model not in self._embedders:
            names = ", ".join(map(repr, self._embedders))
            raise InvalidInputError(f"There is no embedding model {model!r}. Use one of {names}.")
        return self._embedders[model]

    def _check_reranking(self, collection: Collection, options: SearchOptions) -> None:
        """Refuse a reranking that cannot be had.

        Raises:
            RerankingError: Says what is missing.
        """
        if options.reranking == "late_interaction" and not collection.late_interaction:
            raise RerankingError(
                f"The collection {collection.name!r} keeps no vectors of words. Make one with "
                "late_interaction, and ingest its documents there."
            )
        if options.reranking == "model" and self._reranker is None:
            raise RerankingError(
                "No reranking model is configured. Configure one, or search without."
            )

    async def _searchable(self, name: str) -> tuple[Shelf, Embedder]:
        """Open a collection, and find the embedder that its vectors come from."""
        shelf = await self._shelf(name)
        theirs = shelf.collection
        embedder = self._embedders.get(theirs.model, self._embedders[self._default])
        ours = embedder.info()
        if (ours.model, ours.dim, ours.revision) != (theirs.model, theirs.dim, theirs.revision):
            raise EmbedderMismatchError(
                f"The collection {name!r} was made with the embedder {theirs.model!r} "
                f"(revision {theirs.revision!r}, {theirs.dim} dimensions), but {ours.model!r} "
                f"(revision {ours.revision!r}, {ours.dim} dimensions) is configured. Configure "
                "the former, or delete the collection and ingest its documents again."
            )
        return shelf, embedder


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


def _check_weights(options: SearchOptions) -> None:
    for name in ("recency_weight", "vector_weight"):
        weight = getattr(options, name)
        if weight is not None and not 0 <= weight <= 1:
            raise InvalidInputError(f"{name} must be 0 to 1, not {weight}.")


def _no_page(name: str, page: int) -> DocumentNotFoundError:
    return DocumentNotFoundError(f"There is no picture of page {page} of the document {name!r}.")


def _check_count(what: str, count: int) -> None:
    if not 1 <= count <= MOST_RESULTS:
        raise InvalidInputError(f"{what} must be 1 to {MOST_RESULTS:,}, not {count}.")
