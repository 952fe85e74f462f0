"""Opens the knowledge store when it is first needed."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Self

import httpx
import structlog
from heddle_runtime.rpc.multiplex.server import loading
from heddle_runtime.storage.object_store import ObjectStore

from heddle_knowledge.provider_factory import (
    get_embeddings,
    get_reranker,
    get_vectordb,
    get_visual_search,
)
from heddle_knowledge.settings import KnowledgeSettings

if TYPE_CHECKING:  # loads the engine
    from heddle_knowledge.embedders.embedding import Embedder
    from heddle_knowledge.store import KnowledgeStore

log = structlog.get_logger(__name__)


class LazyStore:
    """The knowledge store of a folder, an object store or a database.

    Loading its engine takes seconds and 100 MB, and a service that keeps no knowledge needs none.
    So the store is opened by the first call; or, if the folder has tables already or the store is
    on a server, soon after the start, while other calls are answered.
    """

    def __init__(
        self,
        settings: KnowledgeSettings,
        http: httpx.AsyncClient,
        objects: ObjectStore | None = None,
    ) -> None:
        """Prepare. The models are made when they are first needed.

        Args:
            settings: Where the store is, and its models. In the data folder are pages and graphs
                unless the store is a database.
            http: For the operator's own servers.
            objects: For pictures of pages whose records are in a database.
        """
        self._settings = settings
        self._http = http
        self._objects = objects
        self._place = get_vectordb(settings).place
        self._opening = asyncio.Lock()
        self._store: KnowledgeStore | None = None
        self._embedders: Sequence[Embedder] = ()
        self._resources = AsyncExitStack()
        self._warming: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        place = self._place
        if isinstance(place, str) or await asyncio.to_thread(lambda: any(place.glob("*.lance"))):
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
        on_server = isinstance(self._place, str)
        if self._store is None and (self._opening.locked() or not on_server):
            return
        await (await self.get()).collections.all()

    async def embedders(self) -> "Sequence[Embedder]":
        """Return the embedders, the default one first. The store need not be open."""
        async with self._opening:
            return await self._enter_embedders()

    async def _enter_embedders(self) -> "Sequence[Embedder]":
        if not self._embedders:
            entering = self._resources.enter_async_context(
                get_embeddings(self._settings, self._http)
            )
            self._embedders = await entering
        return self._embedders

    async def _open(self) -> "KnowledgeStore":
        store = await asyncio.to_thread(import_module, "heddle_knowledge.store")  # slow
        from heddle_knowledge.pages.page_place import open_pages  # noqa: PLC0415 - loads numpy
        from heddle_knowledge.reading.parsing import Parser  # noqa: PLC0415 - slow

        settings, folder = self._settings, self._settings.data_dir
        first, *others = await self._enter_embedders()
        pages = open_pages(str(self._place), folder.resolve() / "pages", self._objects)
        parser = Parser(settings.parser_processes)
        self._resources.push_async_callback(parser.aclose)
        opening = store.open_store(
            self._place,
            first,
            others=others,
            reranker=get_reranker(settings, self._http),
            options=get_vectordb(settings).options,
            version_seconds=settings.version_seconds,
            cleanup_seconds=settings.cleanup_seconds,
            pages=await self._resources.enter_async_context(pages),
            page_model=partial(get_visual_search, settings, self._http),
            parser=parser,
            search_bytes=settings.search_memory_mb * 1024**2,
        )
        opened: KnowledgeStore = await self._resources.enter_async_context(opening)
        return opened

    async def _warm(self) -> None:
        try:
            await self.get()
        except Exception:
            # The service has other work; whoever needs the store is told.
            log.exception("knowledge store not opened")
