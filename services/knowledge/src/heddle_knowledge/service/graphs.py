"""Calls about the graphs of collections."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_runtime.server_interceptor import Context

from heddle_knowledge.access import Reader
from heddle_knowledge.errors import KnowledgeError
from heddle_knowledge.graph.records import AskPaths, AskThemes
from heddle_knowledge.service.calls import (
    Calls,
    check_collections,
    check_range,
    collection_error,
    refuse,
)

if TYPE_CHECKING:  # loads the engine
    from google.protobuf.internal.containers import RepeatedCompositeFieldContainer

    from heddle_knowledge.graph.records import Held
    from heddle_knowledge.records import Document
    from heddle_knowledge.store import KnowledgeStore

_DEFAULT_THEMES = 5
_DEFAULT_PATHS = 3
_MAX_RESULTS = 100


class GraphCalls(Calls):
    """The part of the contract about graphs."""

    async def ListGraphThemes(
        self, request: pb.ListGraphThemesRequest, context: Context
    ) -> pb.ListGraphThemesResponse:
        """List the themes that documents mention most."""
        check_collections(request.collections)
        refuse(check_range(request, "max_themes", 0, _MAX_RESULTS), "The graph cannot be read so.")
        count = request.max_themes or _DEFAULT_THEMES
        reader = self._reader()
        response = pb.ListGraphThemesResponse()
        store = await self._store()
        names, graphs = await _graphs(store, reader, request.collections, response.errors)
        if graphs:
            question = AskThemes(graphs, count, request.query)
            response.MergeFromString(await store.graphs.ask(question))
        for theme in response.themes:
            await _describe(store, names, theme.evidence)
        return response

    async def FindGraphPaths(
        self, request: pb.FindGraphPathsRequest, context: Context
    ) -> pb.FindGraphPathsResponse:
        """Find short paths between two entities."""
        check_collections(request.collections)
        refuse(check_range(request, "max_paths", 0, _MAX_RESULTS), "The graph cannot be read so.")
        count = request.max_paths or _DEFAULT_PATHS
        reader = self._reader()
        response = pb.FindGraphPathsResponse()
        store = await self._store()
        names, graphs = await _graphs(store, reader, request.collections, response.errors)
        if graphs:
            question = AskPaths(graphs, request.start, request.end, count)
            response.MergeFromString(await store.graphs.ask(question))
        for path in response.paths:
            for link in path.links:
                await _describe(store, names, link.evidence)
        return response


async def _describe(
    store: "KnowledgeStore", names: dict[str, str], evidence: Iterable[pb.Evidence]
) -> None:
    """Add the titles and addresses of documents, and the names of the collections."""
    for each in evidence:
        document = await _document(store, each.collection, each.passage.document)
        each.passage.title = document.title if document else each.passage.document
        each.passage.uri = document.uri if document else ""
        each.collection = names[each.collection]


async def _document(store: "KnowledgeStore", collection: str, name: str) -> "Document | None":
    try:
        return await store.documents.get(collection, name)
    except KnowledgeError:  # deleted since the graph was read
        return None


async def _graphs(
    store: "KnowledgeStore",
    reader: Reader,
    references: Sequence[str],
    errors: "RepeatedCompositeFieldContainer[pb.CollectionError]",
) -> "tuple[dict[str, str], list[Held]]":
    """Return the names of collections by their ids, and their graphs; add the errors of others."""
    graphs: list[Held] = []
    names: dict[str, str] = {}
    for reference in references:
        try:
            collection = reader.resolve((await store.collections.all()).values(), reference)
            if collection.id not in names:  # once, even if named by its name and its identifier
                graphs.append(await store.graphs.held(collection.id))
            names[collection.id] = reference
        except KnowledgeError as error:
            errors.append(collection_error(reference, error))
    return names, graphs
