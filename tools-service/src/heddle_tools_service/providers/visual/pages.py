"""The pages that tools search and look at, in the name of an assistant's owner."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog
from heddle_knowledge.access import meant, owner_of
from heddle_knowledge.errors import (
    DocumentNotFoundError,
    EmbeddingError,
    KnowledgeError,
    StorageError,
)
from heddle_knowledge.names import document_id

from heddle_tools_service.capabilities.pages import Interpretation, PageMatch, PageMatches
from heddle_tools_service.capabilities.passages import FailedSearch
from heddle_tools_service.providers.visual.addresses import Address, picture_uri, read_uri
from heddle_tools_service.providers.visual.interpreters import Interpreter
from heddle_tools_service.sdk import Assistant, ToolError, ToolUnavailableError

if TYPE_CHECKING:  # loads the engine
    from heddle_knowledge.pages.shapes import Figure
    from heddle_knowledge.records import Collection
    from heddle_knowledge.records import FoundPage as Stored
    from heddle_knowledge.store import KnowledgeStore

OpenStore = Callable[[], Awaitable["KnowledgeStore"]]
NO_PAGE = "There is no such page among those that this assistant may see."
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class PageSearch:
    """All pages that the service keeps, and what looks at them."""

    store: OpenStore
    interpreter: Interpreter
    patience: float
    """Seconds that one collection may take."""

    def of(self, assistant: Assistant) -> "AssistantPages":
        """Return what `assistant` may see."""
        return AssistantPages(self, assistant)


@dataclass(frozen=True, slots=True)
class AssistantPages:
    """Pages in the name of an assistant's owner; see `heddle_tools_service.sdk.Pages`."""

    everywhere: PageSearch
    assistant: Assistant

    async def search(self, collections: Sequence[str], query: str, *, top_k: int) -> PageMatches:
        """Search the pages of all `collections` at once."""
        answers = await asyncio.gather(
            *(self._answer(name, query, top_k) for name in dict.fromkeys(collections))
        )
        found = [page for answer in answers for page in answer.pages]
        found.sort(key=lambda page: -page.score)
        ranked = [answer for answer in answers if answer.model]
        return PageMatches(
            tuple(found[:top_k]),
            tuple(failure for answer in answers for failure in answer.failures),
            ranked[0].model if ranked else "",
            bool(ranked) and ranked[0].visual,
        )

    async def find(self, collections: Sequence[str], picture_uri: str) -> PageMatch:
        """Return the page of a picture."""
        address = read_uri(picture_uri)
        if address is None:
            raise ToolError(NO_PAGE, kind="no_such_page")
        try:
            store = await self.everywhere.store()
            collection = await self._meant(store, address.collection)
            named = {(await self._named(store, name)) for name in dict.fromkeys(collections)}
            if collection.id not in named:
                raise DocumentNotFoundError(NO_PAGE)
            return await _page(store, collection, address)
        except (StorageError, EmbeddingError) as error:
            raise ToolUnavailableError(str(error)) from error
        except KnowledgeError as error:
            raise ToolError(NO_PAGE, kind="no_such_page") from error

    async def interpret(self, page: PageMatch, prompt: str) -> Interpretation:
        """Let the vision model look at the picture of a page."""
        address = read_uri(page.picture_uri)
        if address is None:
            raise ToolError(NO_PAGE, kind="no_such_page")
        try:
            store = await self.everywhere.store()
            collection = await self._meant(store, address.collection)
            name = await store.documents.name_of(collection.id, address.document)
            picture = await store.pages.picture(collection.id, name, address.page)
        except (StorageError, EmbeddingError) as error:
            raise ToolUnavailableError(str(error)) from error
        except KnowledgeError as error:
            raise ToolError(NO_PAGE, kind="no_such_page") from error
        return await self.everywhere.interpreter.interpret(page, picture.data, prompt)

    async def _answer(self, name: str, query: str, top_k: int) -> PageMatches:
        """Search one collection. One that fails must not cost the others."""
        try:
            async with asyncio.timeout(self.everywhere.patience):
                store = await self.everywhere.store()
                collection = await self._meant(store, name)
                found = await store.pages.search(collection.id, query, top_k=top_k)
        except TimeoutError:
            failure = FailedSearch(
                name, f"{_not_searched(name)}: it took too long.", unavailable=True
            )
        except KnowledgeError as error:
            down = isinstance(error, StorageError | EmbeddingError)
            failure = FailedSearch(name, f"{_not_searched(name)}: {error}", unavailable=down)
        except Exception:
            log.exception("pages not searched", collection=name)
            failure = FailedSearch(name, f"{_not_searched(name)}: they are broken.")
        else:
            model = store.pages.model
            pages = tuple(_found(collection, each) for each in found)
            return PageMatches(pages, (), model.name, model.visual)
        return PageMatches(failures=(failure,))

    async def _meant(self, store: "KnowledgeStore", reference: str) -> "Collection":
        """Return the collection that the assistant's owner means and may read, as of now."""
        person = owner_of(self.assistant.owner, self.assistant.organization)
        return meant((await store.collections.all()).values(), person, reference)

    async def _named(self, store: "KnowledgeStore", name: str) -> str:
        """Return the id of a collection, an empty text if there is none."""
        try:
            return (await self._meant(store, name)).id
        except KnowledgeError:
            return ""


async def _page(store: "KnowledgeStore", collection: "Collection", address: Address) -> PageMatch:
    name = await store.documents.name_of(collection.id, address.document)
    document = await store.documents.get(collection.id, name)
    kept = await store.pages.get(collection.id, name, address.page)
    return PageMatch(
        collection.name,
        name,
        address.document,
        document.title,
        document.uri,
        address.page,
        0.0,
        kept.text,
        _told(kept.figures),
        picture_uri(collection, name, address.page),
    )


def _found(collection: "Collection", stored: "Stored") -> PageMatch:
    document, ranked = stored.document, stored.ranked
    return PageMatch(
        collection.name,
        document.name,
        document_id(collection.id, document.name),
        document.title,
        document.uri,
        ranked.page,
        ranked.relevance,
        ranked.text,
        _told(ranked.figures),
        picture_uri(collection, document.name, ranked.page),
    )


def _told(figures: "Sequence[Figure]") -> tuple[str, ...]:
    told = (": ".join(filter(None, (each.caption, each.text))) for each in figures)
    return tuple(filter(None, told))


def _not_searched(name: str) -> str:
    return f"The pages of the collection {name!r} were not searched"
