"""Asks the graphs of the collections that an assistant may search."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from heddle_knowledge.errors import KnowledgeError
from heddle_knowledge.graph.records import (
    Answer,
    AskPaths,
    AskThemes,
    Evidence,
    Held,
)

from heddle_tools_service.capabilities.graph import GraphResults, Link, Mentions, Theme
from heddle_tools_service.capabilities.passages import FailedSearch, Passage
from heddle_tools_service.providers.collection_resolution import searched
from heddle_tools_service.providers.knowledge_bases import OpenStore
from heddle_tools_service.sdk import Assistant, ToolUnavailableError

if TYPE_CHECKING:  # loads the engine
    from heddle_knowledge.records import Document
    from heddle_knowledge.store import KnowledgeStore


@dataclass(frozen=True, slots=True)
class AssistantGraph:
    """The graphs that an assistant may ask; see `heddle_tools_service.sdk.Graph`."""

    store: OpenStore
    assistant: Assistant

    async def themes(
        self, collections: Sequence[str], *, max_results: int, query: str = ""
    ) -> GraphResults:
        """Return the themes of collections."""
        return await self._ask(collections, lambda held: AskThemes(held, max_results, query))

    async def paths(
        self, collections: Sequence[str], start: str, end: str, *, max_results: int
    ) -> GraphResults:
        """Return how two names hang together."""
        return await self._ask(collections, lambda held: AskPaths(held, start, end, max_results))

    async def _ask(
        self, collections: Sequence[str], question: Callable[[list[Held]], AskThemes | AskPaths]
    ) -> GraphResults:
        store = await self.store()
        held: list[Held] = []
        names: dict[str, str] = {}
        failures: list[FailedSearch] = []
        for name in collections:
            try:
                collection = await searched(store, self.assistant, name)
                if collection.id not in names:  # by its identifier and its name, perhaps
                    held.append(await store.graphs.held(collection.id))
                names[collection.id] = name
            except KnowledgeError as error:
                message = str(error).removesuffix(".")
                failures.append(
                    FailedSearch(name, f"Collection {name!r} was not asked: {message}.")
                )
        if not held:
            return GraphResults(0, 0, 0, failures=tuple(failures))
        try:
            answer = await store.graphs.ask(question(held))
        except KnowledgeError as error:
            raise ToolUnavailableError(str(error)) from error
        return await _findings(answer, _Described(store, names).passage, tuple(failures))


class _Described:
    """Puts the titles of documents to passages."""

    def __init__(self, store: "KnowledgeStore", names: dict[str, str]) -> None:
        self._store = store
        self._names = names
        self._known: dict[tuple[str, str], Document | None] = {}

    async def passage(self, found: Evidence) -> Passage:
        """Return a passage as tools see it."""
        key = (found.collection, found.document)
        if key not in self._known:
            self._known[key] = await self._document(*key)
        document = self._known[key]
        attributes = {"collection": self._names[found.collection], "document": found.document}
        attributes["chunk_index"] = str(found.ordinal)
        if found.page:
            attributes["page"] = str(found.page)
        if found.heading:
            attributes["heading"] = found.heading
        title = document.title if document else found.document
        return Passage(found.text, title, document.uri if document else "", attributes=attributes)

    async def _document(self, collection: str, document: str) -> "Document | None":
        try:
            return await self._store.documents.get(collection, document)
        except KnowledgeError:  # it has gone since; the graph knew it a moment ago
            return None


async def _findings(
    answer: Answer,
    passage: Callable[[Evidence], Awaitable[Passage]],
    failures: tuple[FailedSearch, ...],
) -> GraphResults:
    async def mentions(count: int, evidence: Sequence[Evidence]) -> Mentions:
        return Mentions(count, tuple([await passage(each) for each in evidence]))

    network = answer.network
    themes = [
        Theme(
            tuple(each.names),
            each.size,
            tuple(map(tuple, each.within)),
            await mentions(each.passages, each.evidence),
        )
        for each in answer.themes
    ]
    paths = [
        tuple(
            [
                Link(link.start, link.end, await mentions(link.passages, link.evidence))
                for link in path
            ]
        )
        for path in answer.paths
    ]
    unknown = zip(answer.unknown, map(tuple, answer.similar), strict=True)
    return GraphResults(
        network.names,
        network.links,
        network.documents,
        tuple(themes),
        tuple(paths),
        tuple(unknown),
        failures,
        tuple(_warnings(network.foreign, network.missing)),
    )


def _warnings(foreign: int, missing: int) -> list[str]:
    told = []
    if foreign:
        told.append(f"Not in the graph because not in English: {foreign} of the documents.")
    if missing:
        told.append(
            f"Not in the graph yet: {missing} of the documents. Ingest them again to draw them."
        )
    return told
