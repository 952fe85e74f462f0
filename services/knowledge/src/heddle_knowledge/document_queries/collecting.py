"""Collects what is known about the documents of collections, for queries."""

import asyncio
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from heddle_knowledge.collection.names import document_id
from heddle_knowledge.collection.types import EMBEDDED, Collection, Document
from heddle_knowledge.document_queries.query_inputs import Fact
from heddle_knowledge.errors import InvalidInputError

if TYPE_CHECKING:  # loads the engine
    from heddle_knowledge.store import KnowledgeStore

MAX_DOCUMENTS = 50_000
MAX_METADATA_CHARACTERS = 32_000_000
_MAX_VALUE_CHARACTERS = 2_000
_PAGE_SIZE = 1_000


async def collect(
    store: "KnowledgeStore", collection: "Collection", max_documents: int
) -> list[Fact]:
    """Return the metadata of the documents of a collection.

    Raises:
        InvalidInputError: Another server holds them, or there are too many.
        StorageError: They cannot be read.
    """
    if collection.backend != EMBEDDED:
        raise InvalidInputError("another server keeps its documents.")
    facts: list[Fact] = []
    after, characters = "", 0
    while True:
        documents = await store.documents.listed(collection.id, after, _PAGE_SIZE)
        # In a thread: for 50,000 documents this takes a second.
        page = await asyncio.to_thread(list, map(partial(_fact, collection), documents))
        characters += sum(len(text) for fact in page for text in fact.metadata.values())
        facts += page
        _check(len(facts), characters, max_documents)
        if len(documents) < _PAGE_SIZE:
            return facts
        after = documents[-1].name


def _check(documents: int, characters: int, max_documents: int) -> None:
    if documents > max_documents or characters > MAX_METADATA_CHARACTERS:
        raise InvalidInputError(
            f"more than {MAX_DOCUMENTS:,} documents, or {MAX_METADATA_CHARACTERS:,} characters "
            "of metadata, cannot be asked about at once. Split the collection."
        )


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
        metadata={key: value[:_MAX_VALUE_CHARACTERS] for key, value in document.metadata.items()},
    )


def _text(time: datetime) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S")
