"""Opens the knowledge store when it is first needed."""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Self

import structlog

if TYPE_CHECKING:  # loads the engine
    from heddle_tools_service.knowledge.store import KnowledgeStore

_NOTHING: Mapping[str, str] = MappingProxyType({})
log = structlog.get_logger(__name__)


class EmbeddedStore:
    """The knowledge store of a folder, an object store or a database.

    Loading its engine takes seconds, and a service that keeps no knowledge needs none. So the
    store is opened by the first call; or, if the folder is there already or the store is on a
    server, soon after the start, while other calls are answered.
    """

    def __init__(self, place: Path | str, options: Mapping[str, str] = _NOTHING) -> None:
        """Prepare.

        Args:
            place: A folder, or the address of a server.
            options: What an object store needs besides.
        """
        self._place = place
        self._options = options
        self._opening = asyncio.Lock()
        self._store: KnowledgeStore | None = None
        self._resources = AsyncExitStack()
        self._warming: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        if isinstance(self._place, str) or await asyncio.to_thread(self._place.is_dir):
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
            StorageError: The place cannot be made, read or written.
        """
        if self._store is None:
            async with self._opening:
                if self._store is None:
                    self._store = await self._opened()
        return self._store

    async def _opened(self) -> "KnowledgeStore":
        embedding, store = await asyncio.to_thread(_engine)
        embedder = await self._resources.enter_async_context(embedding.MiniLmEmbedder())
        opening = store.open_store(self._place, embedder, options=self._options)
        return await self._resources.enter_async_context(opening)

    async def _warm(self) -> None:
        try:
            await self.get()
        except Exception:
            # The service has other work; whoever needs the store is told.
            log.exception("knowledge store not opened")


def _engine() -> tuple[ModuleType, ModuleType]:
    from heddle_tools_service.knowledge import embedding, store  # noqa: PLC0415 - slow to import

    return embedding, store
