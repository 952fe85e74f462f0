"""Opens the embedded knowledge store when it is first needed."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Self

import structlog

if TYPE_CHECKING:  # loads the engine
    from heddle_tools_service.knowledge.embedding import Embedder
    from heddle_tools_service.knowledge.pages.models import PageModel
    from heddle_tools_service.knowledge.pages.reader import PageReader
    from heddle_tools_service.knowledge.store import KnowledgeStore

Embeddings = Callable[[], "AbstractAsyncContextManager[Embedder]"]
"""Makes the embedder, when it is first needed."""
PageModels = Callable[["PageReader"], "PageModel"]
"""Makes what ranks pages, likewise."""
log = structlog.get_logger(__name__)


class EmbeddedStore:
    """The knowledge store of a folder.

    Loading its engine takes seconds, and a service that keeps no knowledge needs none. So the
    store is opened by the first call; or, if the folder is there already, soon after the start,
    while other calls are answered.
    """

    def __init__(
        self, folder: Path, embeddings: Embeddings, page_model: PageModels | None = None
    ) -> None:
        self._folder = folder
        self._page_model = page_model
        self._embeddings = embeddings
        self._opening = asyncio.Lock()
        self._store: KnowledgeStore | None = None
        self._resources = AsyncExitStack()
        self._warming: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        if await asyncio.to_thread(self._folder.is_dir):
            self._warming = asyncio.create_task(self._warm())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._warming is not None:
            self._warming.cancel()
            await asyncio.wait([self._warming])
        await self._resources.aclose()

    async def get(self) -> "KnowledgeStore":
        """Return the open store.

        Raises:
            StorageError: The folder cannot be made, read or written.
        """
        if self._store is None:
            async with self._opening:
                if self._store is None:
                    self._store = await self._opened()
        return self._store

    async def _opened(self) -> "KnowledgeStore":
        store = await asyncio.to_thread(_engine)
        embedder = await self._resources.enter_async_context(self._embeddings())
        chosen = {} if self._page_model is None else {"page_model": self._page_model}
        opening = store.open_store(self._folder, embedder, **chosen)
        return await self._resources.enter_async_context(opening)

    async def _warm(self) -> None:
        try:
            await self.get()
        except Exception:
            # The service has other work; whoever needs the store is told.
            log.exception("knowledge store not opened", folder=str(self._folder))


def _engine() -> ModuleType:
    from heddle_tools_service.knowledge import store  # noqa: PLC0415 - slow to import

    return store
