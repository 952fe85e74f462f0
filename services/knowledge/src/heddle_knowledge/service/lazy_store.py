"""Opens the knowledge store when it is first needed."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import structlog
from heddle_runtime.rpc.multiplex.server import loading
from heddle_runtime.storage.object_store import ObjectStore

from heddle_knowledge.engines.address import is_database

if TYPE_CHECKING:  # loads the engine
    from heddle_knowledge.embedders.embedding import Embedder
    from heddle_knowledge.pages.models import PageModel
    from heddle_knowledge.pages.page_place import PagePlace
    from heddle_knowledge.pages.reader import PageReader
    from heddle_knowledge.reading.parsing import ParserLimits
    from heddle_knowledge.searching.ranking import Reranker
    from heddle_knowledge.store import KnowledgeStore

Embeddings = Callable[[], "AbstractAsyncContextManager[Sequence[Embedder]]"]
"""Makes the embedders when they are first needed: the one that collections get which name none, and
the others."""
PageModels = Callable[["PageReader"], "PageModel"]
"""Makes what ranks pages, likewise."""
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Storage:
    """The places where a knowledge store holds its data."""

    place: Path | str = field(repr=False)
    """A folder, or the address of a server, which may hold a password."""
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The further options of an object store."""
    version_seconds: float = 120.0
    """The time for which files of earlier versions of a collection stay."""
    cleanup_seconds: float = 300.0
    """The interval at which deleted data is removed from files."""


class LazyStore:
    """The knowledge store of a folder, an object store or a database.

    Loading its engine takes seconds and 100 MB, and a service that keeps no knowledge needs none.
    So the store is opened by the first call; or, if the folder has tables already or the store is
    on a server, soon after the start, while other calls are answered.
    """

    def __init__(
        self,
        storage: Storage,
        embeddings: Embeddings,
        page_model: PageModels | None = None,
        reranker: "Callable[[], Reranker | None]" = lambda: None,
        beside: Path | None = None,
        parser_limits: "ParserLimits | None" = None,
        objects: ObjectStore | None = None,
    ) -> None:
        """Prepare. The models are made when they are first needed.

        Args:
            storage: Where the store is.
            embeddings: Makes the embedders.
            page_model: Makes what ranks pages; None: what reads them with the service's own models.
            reranker: Makes the reranking model, if there is one.
            beside: The folder of what stays on this machine: graphs, and pages unless the store is
                a database. Without it, the store's own folder.
            parser_limits: What the processes that read documents may use; None: the defaults.
            objects: For pictures of pages whose records are in a database.
        """
        self._storage = storage
        self._embeddings = embeddings
        self._page_model = page_model
        self._reranker = reranker
        self._beside = beside
        self._parser_limits = parser_limits
        self._objects = objects
        self._opening = asyncio.Lock()
        self._store: KnowledgeStore | None = None
        self._embedders: Sequence[Embedder] = ()
        self._resources = AsyncExitStack()
        self._warming: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        place = self._storage.place
        if isinstance(place, str) or await asyncio.to_thread(_has_tables, place):
            self._warming = asyncio.create_task(self._warm())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._warming is not None:
            self._warming.cancel()
            await asyncio.wait([self._warming])
        await self._resources.aclose()

    @property
    def opening(self) -> bool:
        """Whether the store is opened without a call that needs it."""
        return self._warming is not None

    async def get(self) -> "KnowledgeStore":
        """Return the open store.

        Raises:
            StorageError: The place cannot be made, read or written.
        """
        if self._store is None:
            async with self._opening:
                if self._store is None:
                    async with loading():
                        self._store = await self._open()
        return self._store

    async def check(self) -> None:
        """Check that the store can be read. A folder that no call has needed is not opened.

        Raises:
            StorageError: The place cannot be made, read or written.
        """
        on_server = isinstance(self._storage.place, str)
        if self._store is None and (self._opening.locked() or not on_server):
            return
        await (await self.get()).collections.all()

    async def embedders(self) -> "Sequence[Embedder]":
        """Return the embedders, the default one first. The store need not be open."""
        async with self._opening:
            return await self._enter_embedders()

    async def _enter_embedders(self) -> "Sequence[Embedder]":
        if not self._embedders:
            entering = self._resources.enter_async_context(self._embeddings())
            self._embedders = await entering
        return self._embedders

    async def _open(self) -> "KnowledgeStore":
        store = await asyncio.to_thread(import_module, "heddle_knowledge.store")  # slow
        beside = self._beside
        is_shared = is_database(str(self._storage.place))
        first, *others = await self._enter_embedders()
        chosen: dict[str, Any] = {}
        if self._page_model is not None:
            chosen["page_model"] = self._page_model
        if self._parser_limits is not None:
            chosen["parser_limits"] = self._parser_limits
        opening = store.open_store(
            self._storage.place,
            first,
            others=others,
            reranker=self._reranker(),
            options=self._storage.options,
            version_seconds=self._storage.version_seconds,
            cleanup_seconds=self._storage.cleanup_seconds,
            pages=await self._open_pages(),
            graphs=beside and beside / ("graph_copies" if is_shared else "graphs"),
            **chosen,
        )
        opened: KnowledgeStore = await self._resources.enter_async_context(opening)
        return opened

    async def _open_pages(self) -> "PagePlace | None":
        if self._beside is None:
            return None
        from heddle_knowledge.pages.page_place import open_pages  # noqa: PLC0415 - loads numpy

        folder = self._beside.resolve() / "pages"
        pages = open_pages(str(self._storage.place), folder, self._objects)
        return await self._resources.enter_async_context(pages)

    async def _warm(self) -> None:
        try:
            await self.get()
        except Exception:
            # The service has other work; whoever needs the store is told.
            log.exception("knowledge store not opened")


def _has_tables(folder: Path) -> bool:
    return any(folder.glob("*.lance"))
