"""Searches knowledge bases. A collection's record names its backend; tools need not know it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from collections.abc import Collection as SomeOf
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import httpx
import structlog
from heddle_knowledge.access import meant, owner_of
from heddle_knowledge.errors import (
    CollectionNotFoundError,
    EmbeddingError,
    KnowledgeError,
    StorageError,
)
from heddle_knowledge.names import document_id
from heddle_knowledge.records import SearchOptions as Ranking
from heddle_knowledge.searching.filters import matching
from heddle_runtime.errors import HeddleError

from heddle_tools_service.capabilities.passages import (
    NO_OPTIONS,
    FailedSearch,
    Passage,
    PassageResults,
    SearchOptions,
)
from heddle_tools_service.providers.kb_server import (
    CONFIGURATION_ERROR,
    NO_COLLECTION,
    KnowledgeServer,
    query_collection,
)
from heddle_tools_service.providers.visual.addresses import picture_uri
from heddle_tools_service.sdk import Assistant, ToolError, ToolUnavailableError

if TYPE_CHECKING:  # loads the engine
    from heddle_knowledge.records import Collection
    from heddle_knowledge.records import Passage as Stored
    from heddle_knowledge.store import KnowledgeStore

log = structlog.get_logger(__name__)
EMBEDDED = "embedded"
LAMB = "lamb-kb"
_AT_ONCE = 8
_MATTERS_OF_RANK = ("vector_weight", "fusion")

OpenStore = Callable[[], Awaitable["KnowledgeStore"]]
ServerOf = Callable[[Assistant], Awaitable[KnowledgeServer | None]]
"""Tells the knowledge-base server of an assistant's owner, if there is one."""
WithheldAt = Callable[[Assistant, KnowledgeServer, SomeOf[str]], Awaitable[SomeOf[str]]]
"""Tells which of some collections at a server are not for an assistant's owner. Whoever asks about
several at once pays for one call."""


async def none_withheld(*_: object) -> SomeOf[str]:
    """Withhold nothing: there is no registry."""
    return ()


@dataclass(frozen=True, slots=True)
class KnowledgeBases:
    """All knowledge bases that the service can reach."""

    store: OpenStore
    server_of: ServerOf
    http: httpx.AsyncClient
    guarded_http: httpx.AsyncClient
    """For servers that organisations name."""
    patience: float
    """Seconds that one collection may take."""
    withheld_at: WithheldAt = none_withheld

    def of(self, assistant: Assistant) -> "AssistantKnowledge":
        """Return what `assistant` may search."""
        return AssistantKnowledge(self, assistant)


@dataclass(frozen=True, slots=True)
class AssistantKnowledge:
    """Knowledge bases in the name of an assistant's owner."""

    bases: KnowledgeBases
    assistant: Assistant

    async def search(
        self,
        collections: Sequence[str],
        query: str,
        *,
        top_k: int,
        threshold: float = 0.0,
        sections: bool = False,
        options: SearchOptions = NO_OPTIONS,
    ) -> PassageResults:
        """Search all `collections` at once; see `heddle_tools_service.sdk.Knowledge`."""
        gate = asyncio.Semaphore(_AT_ONCE)

        async def one(collection: str) -> _Found | FailedSearch:
            async with gate:
                question = _Question(
                    collection, query, top_k, threshold, sections, options, collections
                )
                return await self._answer(question)

        answers = await asyncio.gather(*map(one, collections))
        found = {
            name: answer
            for name, answer in zip(collections, answers, strict=True)
            if isinstance(answer, _Found)
        }
        return PassageResults(
            tuple(
                replace(passage, collection=name)
                for name, each in found.items()
                for passage in each.passages
            ),
            tuple(answer for answer in answers if isinstance(answer, FailedSearch)),
            tuple(each.warning for each in found.values() if each.warning),
        )

    async def _answer(self, question: "_Question") -> "_Found | FailedSearch":
        name = question.collection
        try:
            async with asyncio.timeout(self.bases.patience):
                return await self._ask(question)
        except ToolError as error:
            message = str(error).removesuffix(".")
            if not message.startswith(CONFIGURATION_ERROR):
                message = f"Collection {name!r} was not searched: {message}."
            return FailedSearch(name, message, isinstance(error, ToolUnavailableError))
        except TimeoutError:
            message = f"Collection {name!r} was not searched: it took too long."
            return FailedSearch(name, message, unavailable=True)
        except KnowledgeError as error:
            message = f"Collection {name!r} was not searched: {error}"
            down = isinstance(error, StorageError | EmbeddingError)
            return FailedSearch(name, message, unavailable=down)
        except Exception:
            # One broken collection must not cost the others; what broke it is for the log alone.
            log.exception("collection not searched", collection=name)
            return FailedSearch(name, f"Collection {name!r} was not searched: it is broken.")

    async def _ask(self, question: "_Question") -> "_Found":
        store = await self.bases.store()
        assistant = self.assistant
        try:
            # Now, and not when the assistant was made: what was shared then may be so no more.
            person = owner_of(assistant.owner, assistant.organization)
            record = meant((await store.collections.all()).values(), person, question.collection)
        except CollectionNotFoundError:
            return await self._ask_server(assistant, question, question.collection)
        if record.backend == EMBEDDED:
            wished = question.options
            found = await store.passages.search(
                record.id,
                question.query,
                top_k=question.top_k,
                threshold=question.threshold,
                where=matching(wished.filter, wished.time_from, wished.time_to),
                options=Ranking(
                    wished.recency_weight, wished.vector_weight, wished.fusion, wished.reranking
                ),
            )
            return _Found([_passage(item, record) for item in found])
        if record.backend == LAMB:
            # Whoever registered it lends what he may read there, and no more.
            lender = replace(assistant, owner=record.owner, organization=record.organization)
            known_as = record.settings.get("collection_id", record.name)
            return await self._ask_server(lender, question, known_as, registered=True)
        raise ToolError(f"{CONFIGURATION_ERROR} no backend is named {record.backend!r}")

    async def _ask_server(
        self,
        reader: Assistant,
        question: "_Question",
        collection: str,
        *,
        registered: bool = False,
    ) -> "_Found":
        try:
            server = await self.bases.server_of(reader)
        except ToolError:
            raise  # whoever wrote the sentence saw to it that it may be shown
        except Exception as error:
            # What went wrong with a token can repeat it, so not even the log gets to know.
            log.error("knowledge-base configuration not read", error=type(error).__name__)  # noqa: TRY400 - as the line above says
            raise ToolError(f"{CONFIGURATION_ERROR} it cannot be read") from error
        if server is None:
            missing = "" if registered else f"there is no collection {question.collection!r}, and "
            raise ToolError(
                f"{CONFIGURATION_ERROR} {missing}no knowledge-base server is configured, neither "
                "in the organisation's settings (knowledge_base) nor for all (HEDDLE_TOOLS_KB_URL)"
            )
        # All that are searched for in one call; a record may name another one besides.
        together = question.together if collection in question.together else (collection,)
        if collection in await self._withheld(reader, server, together):
            raise ToolError(NO_COLLECTION)
        body = {
            "query_text": question.query,
            "top_k": question.top_k,
            "threshold": question.threshold,
        }
        http = self.bases.guarded_http if server.guarded else self.bases.http
        found = await query_collection(http, server, collection, body, sections=question.sections)
        return _Found(found, _ignored(question))

    async def _withheld(
        self, reader: Assistant, server: KnowledgeServer, collections: Sequence[str]
    ) -> SomeOf[str]:
        try:
            return await self.bases.withheld_at(reader, server, collections)
        except HeddleError as error:
            log.error("collections' owners cannot be had", reason=error.reason)  # noqa: TRY400 - the other service is at fault
            raise ToolUnavailableError(
                f"{CONFIGURATION_ERROR} whose collections these are cannot be told at the moment"
            ) from None


@dataclass(frozen=True, slots=True)
class _Question:
    collection: str
    query: str
    top_k: int
    threshold: float
    sections: bool
    options: SearchOptions
    together: Sequence[str]
    """All collections of the search."""


@dataclass(frozen=True, slots=True)
class _Found:
    passages: list[Passage]
    warning: str = ""


def _ignored(question: "_Question") -> str:
    """Say what a knowledge-base server has not heeded, if that could change what is found."""
    asked = [
        name
        for each in fields(SearchOptions)
        if (name := each.name) not in _MATTERS_OF_RANK
        and getattr(question.options, name) != getattr(NO_OPTIONS, name)
    ]
    if not asked:
        return ""
    return (
        f"Collection {question.collection!r} is at a LAMB knowledge-base server, which does not "
        f"heed {', '.join(asked)}."
    )


def _passage(found: "Stored", collection: "Collection") -> Passage:
    attributes = {"collection": collection.name, "document": found.document}
    if found.page:
        attributes["page"] = str(found.page)
    if found.heading:
        attributes["heading"] = " / ".join(found.heading)
    identifier = document_id(collection.id, found.document)
    return Passage(
        found.text,
        found.title,
        found.uri,
        found.score,
        found.parent_text,
        attributes,
        document=found.document,
        document_id=identifier,
        chunk_id=f"{identifier}:{found.ordinal}",
        chunk_index=found.ordinal,
        page=found.page or 0,
        relevance=found.relevance,
        picture_uri=picture_uri(collection, found.document, found.page)
        if found.has_picture and found.page
        else "",
    )
