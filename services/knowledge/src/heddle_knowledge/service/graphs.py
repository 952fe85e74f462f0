"""Calls about the graphs of collections."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_runtime.identity.call_metadata import Context

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
    from heddle_knowledge.collection.types import Document
    from heddle_knowledge.graph.records import Held
    from heddle_knowledge.store import KnowledgeStore

_DEFAULT_THEMES = 5
_DEFAULT_PATHS = 3
_MAX_RESULTS = 100
_MESSAGE = "The graph cannot be read so."
ResponseT = TypeVar("ResponseT", pb.ListGraphThemesResponse, pb.FindGraphPathsResponse)


class GraphCalls(Calls):
    """The part of the contract about graphs."""

    async def ListGraphThemes(
        self, request: pb.ListGraphThemesRequest, context: Context
    ) -> pb.ListGraphThemesResponse:
        """List the themes that documents mention most."""
        _check(request, "max_themes")
        count = request.max_themes or _DEFAULT_THEMES
        return await self._answer(
            request.collections,
            lambda graphs: AskThemes(graphs, count, request.query),
            pb.ListGraphThemesResponse(),
        )

    async def FindGraphPaths(
        self, request: pb.FindGraphPathsRequest, context: Context
    ) -> pb.FindGraphPathsResponse:
        """Find short paths between two entities."""
        _check(request, "max_paths")
        count = request.max_paths or _DEFAULT_PATHS
        return await self._answer(
            request.collections,
            lambda graphs: AskPaths(graphs, request.start, request.end, count),
            pb.FindGraphPathsResponse(),
        )

    async def _answer(
        self,
        references: Sequence[str],
        question: "Callable[[list[Held]], AskThemes | AskPaths]",
        response: ResponseT,
    ) -> ResponseT:
        check_collections(references)
        reader = self._reader()
        store = await self._store()
        graphs: list[Held] = []
        names: dict[str, str] = {}
        for reference in references:
            try:
                _, collection = await self._meant(reader.person, reference)
                if collection.id not in names:  # once, even if named by its name and its identifier
                    graphs.append(await store.graphs.held(collection.id))
                names[collection.id] = reference
            except KnowledgeError as error:
                response.errors.append(collection_error(reference, error))
        if graphs:
            response.MergeFromString(await store.graphs.ask(question(graphs)))
        await _describe(store, names, _evidence(response))
        return response


def _evidence(
    response: pb.ListGraphThemesResponse | pb.FindGraphPathsResponse,
) -> list[pb.Evidence]:
    if isinstance(response, pb.ListGraphThemesResponse):
        return [each for theme in response.themes for each in theme.evidence]
    return [each for path in response.paths for link in path.links for each in link.evidence]


async def _describe(
    store: "KnowledgeStore", names: dict[str, str], evidence: Iterable[pb.Evidence]
) -> None:
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


def _check(request: pb.ListGraphThemesRequest | pb.FindGraphPathsRequest, field: str) -> None:
    refuse(check_range(request, field, 0, _MAX_RESULTS), _MESSAGE)
