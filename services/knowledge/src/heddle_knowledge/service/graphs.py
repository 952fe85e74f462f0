"""Calls about the graphs of collections."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_runtime.errors import InvalidRequestError, Violation
from heddle_runtime.server_interceptor import Context

from heddle_knowledge.access import Reader
from heddle_knowledge.errors import KnowledgeError
from heddle_knowledge.graph.records import AskPaths, AskThemes, Evidence, Network, Theme
from heddle_knowledge.service.calls import Calls, check_collections, collection_error
from heddle_knowledge.service.failures import known_failures

if TYPE_CHECKING:  # loads the engine
    from google.protobuf.internal.containers import RepeatedCompositeFieldContainer

    from heddle_knowledge.graph.records import Held
    from heddle_knowledge.records import Document
    from heddle_knowledge.store import KnowledgeStore

_DEFAULT_THEMES = 5
_DEFAULT_PATHS = 3
_MAX_RESULTS = 100
Describe = Callable[[Evidence], Awaitable[pb.Evidence]]


class GraphCalls(Calls):
    """The part of the contract about graphs."""

    async def ListGraphThemes(
        self, request: pb.ListGraphThemesRequest, context: Context
    ) -> pb.ListGraphThemesResponse:
        """List the themes that documents mention most."""
        check_collections(request.collections)
        count = _count(request.max_themes, _DEFAULT_THEMES, "max_themes")
        reader = self._reader()
        response = pb.ListGraphThemesResponse()
        with known_failures():
            store = await self._store()
            names, graphs = await _graphs(store, reader, request.collections, response.errors)
            if not graphs:
                return response
            answer = await store.graphs.ask(AskThemes(graphs, count, request.query))
        describe = _Descriptions(store, names).evidence
        response.summary.CopyFrom(_summary(answer.network))
        response.themes.extend([await _theme(theme, describe) for theme in answer.themes])
        return response

    async def FindGraphPaths(
        self, request: pb.FindGraphPathsRequest, context: Context
    ) -> pb.FindGraphPathsResponse:
        """Find short paths between two entities."""
        check_collections(request.collections)
        count = _count(request.max_paths, _DEFAULT_PATHS, "max_paths")
        reader = self._reader()
        response = pb.FindGraphPathsResponse()
        with known_failures():
            store = await self._store()
            names, graphs = await _graphs(store, reader, request.collections, response.errors)
            if not graphs:
                return response
            answer = await store.graphs.ask(AskPaths(graphs, request.start, request.end, count))
        describe = _Descriptions(store, names).evidence
        response.summary.CopyFrom(_summary(answer.network))
        for path in answer.paths:
            links = [
                pb.GraphLink(
                    start=link.start,
                    end=link.end,
                    passage_count=link.passages,
                    evidence=[await describe(each) for each in link.evidence],
                )
                for link in path
            ]
            response.paths.add(links=links)
        for entity, similar in zip(answer.unknown, answer.similar, strict=True):
            response.unknown.add(entity=entity, similar=similar)
        return response


class _Descriptions:
    """Adds the titles of documents to passages of the graph."""

    def __init__(self, store: "KnowledgeStore", names: dict[str, str]) -> None:
        self._store = store
        self._names = names
        self._documents: dict[tuple[str, str], Document | None] = {}

    async def evidence(self, evidence: Evidence) -> pb.Evidence:
        """Return a passage as callers see it."""
        key = (evidence.collection, evidence.document)
        if key not in self._documents:
            self._documents[key] = await self._document(*key)
        document = self._documents[key]
        passage = pb.Passage(
            text=evidence.text,
            document=evidence.document,
            title=document.title if document else evidence.document,
            uri=document.uri if document else "",
            headings=[evidence.heading] if evidence.heading else [],
            page=evidence.page or 0,
            ordinal=evidence.ordinal,
        )
        return pb.Evidence(collection=self._names[evidence.collection], passage=passage)

    async def _document(self, collection: str, name: str) -> "Document | None":
        try:
            return await self._store.documents.get(collection, name)
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


async def _theme(theme: Theme, describe: Describe) -> pb.GraphTheme:
    return pb.GraphTheme(
        entities=theme.names,
        entity_count=theme.size,
        subgroups=[pb.EntityGroup(entities=names) for names in theme.within],
        passage_count=theme.passages,
        evidence=[await describe(each) for each in theme.evidence],
    )


def _summary(network: Network) -> pb.GraphSummary:
    return pb.GraphSummary(
        entity_count=network.names,
        link_count=network.links,
        document_count=network.documents,
        foreign_document_count=network.foreign,
        missing_document_count=network.missing,
    )


def _count(count: int, default: int, field: str) -> int:
    if not 0 <= count <= _MAX_RESULTS:
        violation = Violation(field, f"must be between 0 and {_MAX_RESULTS}")
        raise InvalidRequestError("The graph cannot be read so.", [violation])
    return count or default
