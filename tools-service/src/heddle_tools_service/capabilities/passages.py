"""Capability: passages of documents."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

from heddle.knowledge.v1 import knowledge_pb2

Reranking = Literal["none", "model"]
IDENTIFIER = re.compile(r"vs_[0-9a-f]{32}")
"""What names a collection without a name for people."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a document that matches a question."""

    text: str
    title: str
    uri: str = ""
    score: float = 0.0
    """The similarity to the question; 1.0 is the best."""
    section: str = ""
    """The text around the passage. Empty if the backend returns none."""
    attributes: dict[str, str] = field(default_factory=dict)
    document: str = ""
    """The document's name in its collection. Empty if the backend returns none, as all that
    follows."""
    document_id: str = ""
    chunk_id: str = ""
    chunk_index: int | None = None
    """Its place in the document, counted from 0."""
    page: int = 0
    """Counted from 1."""
    relevance: float | None = None
    """The value by which one search orders its passages, comparable only among them."""
    picture_uri: str = ""
    """The address of a picture of the page, relative to the gateway."""
    collection: str = ""
    """As it was named in the search."""


@dataclass(frozen=True, slots=True)
class FailedSearch:
    """A collection that could not be searched, and why, in words that may be shown."""

    collection: str
    message: str
    unavailable: bool = False
    """Whether a later attempt may succeed."""


@dataclass(frozen=True, slots=True)
class PassageResults:
    """The passages that a search found, by collection, the best of each first."""

    passages: tuple[Passage, ...] = ()
    failures: tuple[FailedSearch, ...] = ()
    warnings: tuple[str, ...] = ()
    """The options that the backend of a collection ignored, one sentence each."""


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """Options by which a search selects and orders passages."""

    time_from: datetime | None = None
    """Only documents of this time or later."""
    time_to: datetime | None = None
    """Only documents from before this time."""
    recency_weight: float = 0.0
    """The weight of the age of documents, 0 to 1."""
    vector_weight: float | None = None
    """The weight of the vector search, 0 to 1; the full-text search has the rest. None: the
    default of the service."""
    reranking: Reranking = "none"
    """What reorders the best passages."""
    only_relevant: bool = False
    """Whether a collection whose best passage is hardly similar to the question has no result."""


NO_OPTIONS = SearchOptions()


class Passages(Protocol):
    """The collections that the owner of the assistant may read.

    A tool that lets a model name a collection must refuse names that its configuration does not
    contain: the owner may have collections that are not meant for this assistant.
    """

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
        """Search all `collections` at once.

        Args:
            collections: Their names.
            query: The question.
            top_k: The maximum number of passages from each collection.
            threshold: The least similarity; 0 means any.
            sections: Ask for the section around each passage.
            options: How passages are selected and ordered. An external knowledge-base server
                ignores them; `warnings` then says so.

        Returns:
            Passages in the order of `collections`. A collection that fails is in `failures`.
        """

    async def have_documents(self, collections: Sequence[str]) -> bool:
        """Return whether any of `collections` contains a document.

        A collection that cannot be asked counts as one that does: a search says what is wrong.
        """


def stored_attributes(collection: str, passage: knowledge_pb2.Passage) -> dict[str, str]:
    """Return the attributes of a source that is a passage of the knowledge service."""
    attributes = {"collection": collection, "document": passage.document}
    if passage.page:
        attributes["page"] = str(passage.page)
    if passage.headings:
        attributes["heading"] = " / ".join(passage.headings)
    return attributes
