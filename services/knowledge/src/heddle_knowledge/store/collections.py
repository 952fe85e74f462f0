"""The collections of a store: created, listed, counted, deleted."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from heddle_knowledge.collection_registry import new_collection
from heddle_knowledge.embedders.embedding import WordEmbedder
from heddle_knowledge.engines.conditions import Compare
from heddle_knowledge.errors import InvalidInputError
from heddle_knowledge.languages import language_of
from heddle_knowledge.names import check_collection_name
from heddle_knowledge.records import EMBEDDED, Collection, CollectionSize
from heddle_knowledge.store.context import StoreContext

_NOTHING: Mapping[str, str] = MappingProxyType({})


class Collections:
    """The collections of everybody."""

    def __init__(self, context: StoreContext, changed: Callable[[str, int], None]) -> None:
        """Use what the store works with.

        Args:
            context: What that is.
            changed: Takes the id of a collection that has to be put in order, and the number of
                rows that were written to it.
        """
        self._context = context
        self._changed = changed

    async def create(
        self,
        name: str,
        *,
        title: str = "",
        backend: str = EMBEDDED,
        settings: Mapping[str, str] = _NOTHING,
        embedding_model: str = "",
        language: str = "",
        **more: Any,  # noqa: ANN401 - the fields of the record
    ) -> Collection:
        """Make an empty collection, or register one that another backend holds.

        Args:
            name: 1 to 63 of `A-Za-z0-9_.-`, the first a letter or digit.
            title: For people.
            backend: `embedded`, or the name of another backend.
            settings: What that backend needs to find it; never a secret.
            embedding_model: Whose vectors it gets; empty: the store's default.
            language: What its words are cut as, a BCP 47 tag; empty: English.
            more: Whose it is and how its documents are treated, as fields of `Collection`.

        Raises:
            InvalidInputError: The name or the backend's name breaks the rule, the store does not
                offer the model or the language, late interaction is wanted of one that cannot do
                it, or a graph of a service that draws none.
            CollectionExistsError: The organisation has a collection of this name.
        """
        check_collection_name(name)
        check_collection_name(backend)
        if more.get("graph"):
            self._context.graphs.check_possible()
        self._context.pages.check(more.get("page_handling", "pictures"))
        embedder = self._context.offered(embedding_model)
        more["language"] = language_of(language)
        created = new_collection(
            name, backend, embedder.info(), title=title, settings=settings, **more
        )
        created.chunking.check()
        if created.late_interaction and not isinstance(embedder, WordEmbedder):
            raise InvalidInputError(
                f"The embedding model {created.model!r} knows no vectors of single words. Choose "
                "another, or do without late interaction."
            )
        await self._context.collection_store.add(created)
        return created

    async def get(self, name: str) -> Collection:
        """Return a collection by its id, or one of the default organisation by its name.

        Wherever the store asks for a collection, it takes either. Whoever acts for somebody finds
        the id with `access.meant`.

        Raises:
            CollectionNotFoundError: There is none.
        """
        return await self._context.collection_store.registry.get(name)

    async def all(self) -> Mapping[str, Collection]:
        """Return the collections of everybody, by id."""
        return await self._context.collection_store.registry.all()

    async def change(self, changed: Collection) -> None:
        """Keep a collection's title, sharing, metadata and language as they are now.

        The words of another language are cut in the background.

        Raises:
            CollectionNotFoundError: It was deleted meanwhile.
        """
        await self._context.collection_store.change(changed)
        if changed.backend == EMBEDDED:
            self._changed(changed.id, 0)

    async def purge(self, ids: Iterable[str] = ()) -> None:
        """Leave nothing of what was deleted in the files of the list, and of these collections.

        Raises:
            StorageError: The files cannot be written.
        """
        registry = self._context.collection_store.registry
        known = await registry.all()
        for each in ids:
            if each in known and known[each].backend == EMBEDDED:
                handle = await self._context.open(each)
                async with handle.using():
                    await handle.table.purge()
        await registry.purge()

    async def size(self, name: str) -> CollectionSize:
        """Return how much an embedded collection holds.

        Raises:
            CollectionNotFoundError: There is none of this name.
            ForeignBackendError: Another backend holds it.
        """
        handle = await self._context.open(name)
        async with handle.using():
            documents = await handle.table.count(Compare("ordinal", "=", 0))
            return CollectionSize(documents, await handle.table.count())

    async def stored_bytes(self, name: str) -> int:
        """Return how much an embedded collection takes on disk; 0 if the engine cannot say.

        Raises:
            CollectionNotFoundError: There is none of this name.
            ForeignBackendError: Another backend holds it.
        """
        handle = await self._context.open(name)
        async with handle.using():
            return await handle.table.size()

    async def delete(self, name: str) -> None:
        """Delete a collection with all of its documents, or only the record of a foreign one.

        Raises:
            CollectionNotFoundError: There is none of this name.
        """
        collection = await self._context.collection_store.registry.get(name)
        await self._context.collection_store.remove(collection)
        await self._context.pages.drop(collection.id)
        if graph := self._context.graphs.of(collection):
            await graph.remove()
