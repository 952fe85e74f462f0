"""The graphs of a store: what they say of the names in documents."""

from heddle_knowledge.errors import InvalidInputError
from heddle_knowledge.graph.records import Held
from heddle_knowledge.store.context import StoreContext
from heddle_knowledge.store.documents import Documents


class CollectionGraphs:
    """The graphs of the collections that have one.

    Every method that takes a collection raises `CollectionNotFoundError` if there is none, and
    `ForeignBackendError` if another backend holds it.
    """

    def __init__(self, context: StoreContext, documents: Documents) -> None:
        self._context = context
        self.ask = context.graphs.ask
        self._documents = documents

    async def held(self, collection: str) -> Held:
        """Return the current parts of a collection's graph, for questions to it.

        Raises:
            InvalidInputError: It has no graph.
        """
        handle = await self._context.open(collection)
        record = handle.collection
        graph = self._context.graphs.of(record)
        if graph is None:
            raise InvalidInputError(
                f"The collection {record.name!r} has no graph. Make one with graph, and ingest its "
                "documents there."
            )
        documents = await self._documents.all(record.id)
        current = {(document.name, document.sha256) for document in documents}
        parts = [
            part for part in await graph.parts.all() if (part.document, part.sha256) in current
        ]
        return Held(record.id, parts, missing=len(current) - len(parts))
