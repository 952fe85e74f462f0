"""What is known about the documents that an assistant may search, for SQL."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from heddle_knowledge.document_queries.errors import RefusedQueryError
from heddle_knowledge.document_queries.query_workers import Asking
from heddle_knowledge.document_queries.records import Fact, Rows, Table
from heddle_knowledge.errors import KnowledgeError
from heddle_knowledge.names import document_id

from heddle_tools_service.capabilities.passages import FailedSearch
from heddle_tools_service.providers.collection_resolution import searched
from heddle_tools_service.providers.knowledge_bases import EMBEDDED, OpenStore
from heddle_tools_service.sdk import Assistant, ToolError

if TYPE_CHECKING:  # loads the engine
    from heddle_knowledge.records import Collection, Document
    from heddle_knowledge.store import KnowledgeStore

_MOST_DOCUMENTS = 50_000
_MOST_CHARACTERS = 32_000_000
_LONGEST_VALUE = 2_000
_PAGE = 1_000


@dataclass(frozen=True, slots=True)
class AssistantDocuments:
    """The documents of the collections that an assistant may search."""

    store: OpenStore
    asking: Asking
    assistant: Assistant

    async def open(self, collections: Sequence[str]) -> "FactTables":
        """Read what is known now; see the capability `DocumentQueries`."""
        store = await self.store()
        facts: list[Fact] = []
        failures: list[FailedSearch] = []
        for name in collections:
            try:
                collection = await searched(store, self.assistant, name)
                facts += await _facts(store, collection, _MOST_DOCUMENTS - len(facts))
            except (KnowledgeError, ToolError) as error:
                message = str(error).removesuffix(".")
                failures.append(
                    FailedSearch(name, f"Collection {name!r} was not asked: {message}.")
                )
        with _refusing():
            tables = await self.asking.describe(facts)
        return FactTables(self.asking, facts, tables, tuple(failures))


@dataclass(frozen=True, slots=True)
class FactTables:
    """What was known at one moment."""

    asking: Asking
    facts: list[Fact]
    tables: tuple[Table, ...]
    failures: tuple[FailedSearch, ...]

    @property
    def documents(self) -> int:
        """How many documents there are."""
        return len(self.facts)

    async def select(self, sql: str, *, max_rows: int) -> Rows:
        """Return the answer to a query; see `DocumentTables`."""
        with _refusing():
            return await self.asking.select(self.facts, sql, max_rows)


@contextmanager
def _refusing() -> Iterator[None]:
    """Turn refusals into what tools say."""
    try:
        yield
    except RefusedQueryError as error:
        raise ToolError(str(error), kind="refused_query") from error


async def _facts(store: "KnowledgeStore", collection: "Collection", most: int) -> list[Fact]:
    if collection.backend != EMBEDDED:
        raise ToolError("another server keeps its documents")
    facts: list[Fact] = []
    after, characters = "", 0
    while True:
        page = await store.documents.listed(collection.id, after, _PAGE)
        # In a thread: of 50,000 documents this takes a second.
        facts += await asyncio.to_thread(_page, collection, page)
        characters += sum(
            len(text) for fact in facts[-len(page) :] for text in fact.metadata.values()
        )
        if len(facts) > most or characters > _MOST_CHARACTERS:
            raise ToolError(
                f"more than {_MOST_DOCUMENTS:,} documents, or {_MOST_CHARACTERS:,} characters of "
                "metadata, cannot be asked about at once. Split the collection"
            )
        if len(page) < _PAGE:
            return facts
        after = page[-1].name


def _page(collection: "Collection", documents: list["Document"]) -> list[Fact]:
    return [_fact(collection, document) for document in documents]


def _fact(collection: "Collection", document: "Document") -> Fact:
    return Fact(
        document_id=document_id(collection.id, document.name),
        collection=collection.name,
        document=document.name,
        title=document.title,
        uri=document.uri,
        media_type=document.media_type,
        size=document.size,
        passages=document.chunks,
        pages=document.pages or None,
        document_time=_text(document.document_time or document.ingested_at),
        ingested_at=_text(document.ingested_at),
        metadata={key: value[:_LONGEST_VALUE] for key, value in document.metadata.items()},
    )


def _text(time: datetime) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S")
