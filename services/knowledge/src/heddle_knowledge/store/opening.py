"""Opens the store."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

from heddle_runtime.serving.background import repeating

from heddle_knowledge.collection.store import open_collection_store
from heddle_knowledge.collection.tables import all_contents
from heddle_knowledge.collection.types import EMBEDDED
from heddle_knowledge.embedders.embedding import Embedder
from heddle_knowledge.engines.address import open_engine
from heddle_knowledge.engines.interface import VERSION_SECONDS
from heddle_knowledge.engines.maintenance import Maintenance
from heddle_knowledge.errors import CollectionNotFoundError
from heddle_knowledge.graph.graphs import Graphs
from heddle_knowledge.pages.models import OcrPageModel, PageModel
from heddle_knowledge.pages.page_place import PagePlace, open_pages
from heddle_knowledge.pages.page_store import PageStore
from heddle_knowledge.pages.reader import PageReader
from heddle_knowledge.reading.parsing import Parser
from heddle_knowledge.searching.ranking import Reranker
from heddle_knowledge.searching.snapshots import BUDGET, Snapshots
from heddle_knowledge.store.collections import Collections
from heddle_knowledge.store.context import StoreContext
from heddle_knowledge.store.documents import Documents
from heddle_knowledge.store.graphs import CollectionGraphs
from heddle_knowledge.store.pages import Pages
from heddle_knowledge.store.passages import Passages

_ANN_ROWS = 20_000
_QUIET_SECONDS = 2.0
_CLEANUP_SECONDS = 300.0
_AT_ONCE = 0.001
"""Seconds; LanceDB warns of 0."""
_SLACK_SECONDS = 1.0  # versions are as old as they must be, whichever clock rounds
_NOTHING: Mapping[str, str] = MappingProxyType({})


@asynccontextmanager
async def open_store(  # noqa: PLR0913 - what a store is made of, each by its name
    place: Path | str,
    embedder: Embedder,
    *,
    others: Sequence[Embedder] = (),
    reranker: Reranker | None = None,
    options: Mapping[str, str] = _NOTHING,
    ann_rows: int = _ANN_ROWS,
    quiet_seconds: float = _QUIET_SECONDS,
    version_seconds: float = VERSION_SECONDS,
    cleanup_seconds: float = _CLEANUP_SECONDS,
    page_model: Callable[[PageReader], PageModel] = OcrPageModel,
    pages: PagePlace | None = None,
    parser: Parser | None = None,
    search_bytes: int = BUDGET,
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
        ann_rows: From how many chunks on a collection gets an approximate vector index.
        quiet_seconds: How long a collection rests after a commit before it is put in order.
        version_seconds: How long files of earlier versions of a collection stay for searches that
            still read them.
        cleanup_seconds: How often what deletions and crashes left in files is removed.
        page_model: Makes what ranks pages.
        pages: Where pages and graphs are, of this store alone. Without: in a folder beside the
            collections; of a store on a server they last as long as it is open.
        parser: What reads documents; likewise. Without: one of this store.
        search_bytes: The memory for collections that are searched in it; 0: the engine searches.

    Yields:
        The store; leaving the block closes it, and ends ingestions that still run.

    Raises:
        StorageError: The place cannot be used.
    """
    reader = PageReader()
    model = page_model(reader)
    try:
        async with AsyncExitStack() as opened:
            if parser is None:
                parser = Parser()
                opened.push_async_callback(parser.aclose)
            engine = await opened.enter_async_context(open_engine(str(place), options))
            snapshots = Snapshots(search_bytes)
            collection_store = await opened.enter_async_context(
                open_collection_store(engine, resting=snapshots.clear)
            )
            page_place = pages or await _beside(place, opened)
            graphs = Graphs(page_place.database)
            opened.push_async_callback(graphs.aclose)
            context = StoreContext(
                collection_store=collection_store,
                embedders={each.info().model: each for each in (embedder, *others)},
                default=embedder.info().model,
                parser=parser,
                graphs=graphs,
                pages=PageStore(page_place, reader, model),
                reranker=reranker,
                snapshots=snapshots,
            )
            store = KnowledgeStore(context, ann_rows, quiet_seconds, version_seconds)
            await store.revisit()
            try:
                async with repeating(store.clean, cleanup_seconds, "knowledge store not cleaned"):
                    yield store
            finally:
                await store.aclose()
    finally:
        await reader.aclose()
        await model.aclose()


async def _beside(place: Path | str, opened: AsyncExitStack) -> PagePlace:
    if "://" in str(place):
        folder = Path(opened.enter_context(TemporaryDirectory(prefix="heddle-pages-")))
    else:
        folder = Path(place) / "pages"
    return await opened.enter_async_context(open_pages("", folder))


class KnowledgeStore:
    """An open store, its parts by subject. Made by `open_store`.

    Attributes:
        collections: Made, listed, counted, deleted.
        documents: Brought in, listed, deleted.
        passages: Listed, found.
        pages: Found, shown.
        graphs: Asked.
        parser: Reads documents, also those of no collection.
        engine: The name of what keeps the collections.
    """

    def __init__(
        self,
        context: StoreContext,
        ann_rows: int,
        quiet_seconds: float,
        version_seconds: float,
    ) -> None:
        self._context = context
        self._ann_rows = ann_rows
        self._version_seconds = version_seconds
        self._maintenance = Maintenance(
            self.tidy,
            quiet_seconds=quiet_seconds,
            settle_seconds=version_seconds + _SLACK_SECONDS,
        )
        self.collections = Collections(context, self._maintenance.committed)
        self.documents = Documents(context, self._maintenance.committed)
        self.passages = Passages(context)
        self.pages = Pages(context, self.documents, self.passages)
        self.graphs = CollectionGraphs(context, self.documents)
        self.parser = context.parser
        self.engine = context.collection_store.engine

    async def tidy(self, collection: str) -> None:
        """Put a collection's files in order now; otherwise this happens in the background.

        Raises:
            ForeignBackendError: Another backend holds it.
            StorageError: It failed; nothing is lost.
        """
        with suppress(CollectionNotFoundError):
            handle = await self._context.open(collection)
            free = handle.engine.locks.locked_if_free(f"chunks_{handle.collection.id}.upkeep")
            async with handle.using(), free as mine:
                if mine:  # else another process does it
                    await handle.check_exists()
                    language = handle.collection.language
                    await handle.table.optimize(language, self._ann_rows, self._version_seconds)
            async with handle.using():
                await self._context.pages.sweep(
                    handle.collection, partial(all_contents, handle.table)
                )

    async def clean(self) -> None:
        """Remove what deletions and crashes left in files.

        Raises:
            StorageError: It failed; nothing is lost.
        """
        await self._context.pages.sweep_collections(self.collections.all)
        await self._context.graphs.sweep(self.collections.all)
        await self.purge(self._version_seconds)

    async def purge(self, version_seconds: float = _AT_ONCE) -> None:
        """Leave nothing of deleted documents and collections in files.

        Args:
            version_seconds: How long files of earlier versions stay for searches that read them.

        Raises:
            StorageError: The files cannot be written.
        """
        registry = self._context.collection_store.registry
        known = await registry.all()
        for identifier, deleted_at in (await registry.deletions()).items():
            if identifier not in known:
                continue
            await self.tidy(identifier)
            handle = await self._context.open(identifier)
            lock = handle.engine.locks.locked(f"chunks_{identifier}.upkeep")
            async with handle.using(), lock:
                await handle.table.purge(version_seconds)
            await registry.forget_deletion(identifier, deleted_at)
            self._maintenance.committed(identifier, 0)  # earlier versions are removed later
        await registry.purge(version_seconds)
        await self._context.pages.place.purge()

    async def revisit(self) -> None:
        """Plan to put in order what an earlier stop has left undone."""
        for collection in (await self.collections.all()).values():
            if collection.backend == EMBEDDED:
                self._maintenance.revisit(collection.id)

    async def aclose(self) -> None:
        """Stop background work. `open_store` calls this."""
        await self._maintenance.aclose()
        await self.documents.aclose()
        await self.passages.aclose()
