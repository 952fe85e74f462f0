"""The parts of an open store."""

from collections.abc import Mapping
from dataclasses import dataclass

from heddle_knowledge.collection.handle import CollectionHandle
from heddle_knowledge.collection.store import CollectionStore
from heddle_knowledge.collection.types import EMBEDDED, Collection
from heddle_knowledge.embedders.embedding import MINILM, MULTILINGUAL_E5, Embedder
from heddle_knowledge.engines.languages import ENGLISH
from heddle_knowledge.errors import (
    EmbedderMismatchError,
    ForeignBackendError,
    InvalidInputError,
)
from heddle_knowledge.graph.graphs import Graphs
from heddle_knowledge.pages.page_store import PageStore
from heddle_knowledge.reading.parsing import Parser
from heddle_knowledge.searching.ranking import Reranker
from heddle_knowledge.searching.snapshots import Snapshots


@dataclass(frozen=True, slots=True)
class StoreContext:
    """The parts with which an open store works.

    Attributes:
        collection_store: The collections.
        embedders: What makes vectors, by the names of their models.
        default: The model of collections in English that name none.
        parser: Reads documents and cuts them.
        graphs: The graphs of the collections that have one.
        pages: The pages of documents.
        reranker: The model of searches that ask for one.
        snapshots: The collections that are searched in memory.
    """

    collection_store: CollectionStore
    embedders: Mapping[str, Embedder]
    default: str
    parser: Parser
    graphs: Graphs
    pages: PageStore
    reranker: Reranker | None
    snapshots: Snapshots

    async def open(self, named: str | Collection) -> CollectionHandle:
        """Open an embedded collection; its record must have been read a moment ago.

        Raises:
            CollectionNotFoundError: There is none.
            ForeignBackendError: Another backend holds it.
        """
        registry = self.collection_store.registry
        collection = named if isinstance(named, Collection) else await registry.get(named)
        if collection.backend != EMBEDDED:
            raise ForeignBackendError(
                f"The documents of the collection {collection.name!r} are in "
                f"{collection.backend!r}. Heddle only searches it: add, change and remove them "
                "there."
            )
        return await self.collection_store.open(collection)

    def model_for(self, language: str) -> str:
        """Return the model of new collections in a language that name none."""
        other = language != ENGLISH and self.default == MINILM
        return MULTILINGUAL_E5 if other and MULTILINGUAL_E5 in self.embedders else self.default

    def offered(self, model: str) -> Embedder:
        """Return the embedder of a model; empty: the default one.

        Raises:
            InvalidInputError: There is none.
        """
        model = model or self.default
        if model not in self.embedders:
            names = ", ".join(map(repr, self.embedders))
            raise InvalidInputError(f"There is no embedding model {model!r}. Use one of {names}.")
        return self.embedders[model]

    async def searchable(self, named: str | Collection) -> tuple[CollectionHandle, Embedder]:
        """Open a collection, and find the embedder that its vectors come from.

        Raises:
            CollectionNotFoundError: There is none.
            ForeignBackendError: Another backend holds it.
            EmbedderMismatchError: The store has not the embedder that filled it.
        """
        handle = await self.open(named)
        theirs = handle.collection
        embedder = self.embedders.get(theirs.model, self.embedders[self.default])
        ours = embedder.info()
        if (ours.model, ours.dim, ours.revision) != (theirs.model, theirs.dim, theirs.revision):
            raise EmbedderMismatchError(
                f"The collection {theirs.name!r} was made with the embedder {theirs.model!r} "
                f"(revision {theirs.revision!r}, {theirs.dim} dimensions), but {ours.model!r} "
                f"(revision {ours.revision!r}, {ours.dim} dimensions) is configured. Configure "
                "the former, or delete the collection and ingest its documents again."
            )
        return handle, embedder
