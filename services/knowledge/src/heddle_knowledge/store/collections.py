"""The collections of a store: created, listed, counted, deleted."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from heddle_knowledge.collection.names import check_collection_name
from heddle_knowledge.collection.registry import new_collection
from heddle_knowledge.collection.types import EMBEDDED, Collection, CollectionSize
from heddle_knowledge.engines.conditions import Compare
from heddle_knowledge.engines.languages import language_of
from heddle_knowledge.store.context import StoreContext

_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(eq=False, slots=True)
class Collections:
    """The collections of everybody."""

    context: StoreContext
    """The parts of the open store."""
    changed: Callable[[str, int], None]
    """Takes the id of a changed collection, and the number of rows that were written to it."""

    async def create(self, name: str, **fields: Any) -> Collection:  # noqa: ANN401 - of `new`
        """Create an empty collection, or register one of another backend; see `new`.

        Raises:
            CollectionExistsError: The organisation has a collection of this name.
        """
        return await self.add(self.new(name, **fields))

    async def add(self, collection: Collection) -> Collection:
        """Store a new collection.

        Raises:
            CollectionExistsError: The organisation has a collection of this name.
        """
        await self.context.collection_store.add(collection)
        return collection

    def new(
        self,
        name: str,
        *,
        title: str = "",
        backend: str = EMBEDDED,
        settings: Mapping[str, str] = _NOTHING,
        embedding_model: str = "",
        has_vectors: bool = True,
        language: str = "",
        **more: Any,  # noqa: ANN401 - the fields of the record
    ) -> Collection:
        """Return a collection that is not stored yet.

        Args:
            name: 1 to 63 of `A-Za-z0-9_.-`, the first a letter or digit.
            title: For people.
            backend: `embedded`, or the name of another backend.
            settings: What that backend needs to find it; never a secret.
            embedding_model: Whose vectors it has; empty: the default for its language.
            has_vectors: Whether it has vectors of that model.
            language: What its words are cut as, a BCP 47 tag; empty: English.
            more: Whose it is and how its documents are treated, as fields of `Collection`.

        Raises:
            InvalidInputError: The name or the backend's name breaks the rule, the store does not
                offer the model or the language, or a graph is wanted of a service that draws none.
        """
        check_collection_name(name)
        check_collection_name(backend)
        if more.get("graph"):
            self.context.graphs.check_possible()
        self.context.pages.check(more.get("page_handling", "pictures"))
        more["language"] = language_of(language)
        by_language = self.context.model_for(more["language"]) if backend == EMBEDDED else ""
        info = self.context.offered(embedding_model or by_language).info() if has_vectors else None
        return new_collection(name, backend, info, title=title, settings=settings, **more)

    async def get(self, name: str) -> Collection:
        """Return a collection by its id, or one of the default organisation by its name.

        All methods of the store accept either. Callers on behalf of a user find the id with
        `access.meant`.

        Raises:
            CollectionNotFoundError: There is none.
        """
        return await self.context.collection_store.registry.get(name)

    async def all(self) -> Mapping[str, Collection]:
        """Return the collections of everybody, by id."""
        return await self.context.collection_store.registry.all()

    async def named(self, reference: str) -> Sequence[Collection]:
        """Return all collections with a name, an identifier or a former one."""
        return await self.context.collection_store.registry.named(reference)

    async def change(self, changed: Collection) -> None:
        """Store the changed title, sharing, metadata or language of a collection.

        The words of another language are cut in the background.

        Raises:
            CollectionNotFoundError: It was deleted meanwhile.
        """
        await self.context.collection_store.change(changed)
        if changed.backend == EMBEDDED:
            self.changed(changed.id, 0)

    async def size(self, name: str) -> CollectionSize:
        """Return the size of an embedded collection.

        Raises:
            CollectionNotFoundError: There is none of this name.
            ForeignBackendError: Another backend holds it.
        """
        handle = await self.context.open(name)
        async with handle.using():
            documents = await handle.table.count(Compare("ordinal", "=", 0))
            return CollectionSize(documents, await handle.table.count())

    async def delete(self, name: str) -> None:
        """Delete a collection with all of its documents, or only the record of a foreign one.

        Raises:
            CollectionNotFoundError: There is none of this name.
        """
        collection = await self.context.collection_store.registry.get(name)
        await self.context.collection_store.remove(collection)
        await self.context.pages.place.drop(collection.id)
        if graph := self.context.graphs.of(collection):
            await graph.parts.remove()
