"""The types that the store returns: collections, documents, passages, progress."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Literal

from heddle_knowledge.chunking.options import Chunking
from heddle_knowledge.engines.languages import ENGLISH

DEFAULT_ORGANIZATION = "default"
"""That of `heddle_runtime.identity.callers`, which loads gRPC."""
EMBEDDED = "embedded"
"""The backend of collections whose documents this service stores."""
FORMER_ID, SHARES = "collection_id", "shares"
"""Settings of embedded collections, see `former_id` and `access.may_share`."""
REGISTRY = "registry"
"""The value of `SHARES`."""
DEFAULT_VECTOR_WEIGHT = 0.7
"""The weight of the vector search where a request names none; docs/adr/0031 has the figures."""

Mode = Literal["hybrid", "vector", "text"]
Stage = Literal["fetching", "parsing", "drawing", "recognising", "embedding", "relating", "saving"]
SAVING: Stage = "saving"
"""After this one, a change may be in force, whatever becomes of the ingestion."""
Reranking = Literal["none", "model"]
Sharing = Literal["private", "organization", "everyone"]
PageHandling = Literal["text", "pictures", "search"]


@dataclass(frozen=True, slots=True)
class Collection:
    """A named set of documents.

    Attributes:
        name: Unique among those of its organisation.
        title: For people; may be empty.
        backend: `embedded`, or the name of another backend that holds the documents; then the
            store keeps this record and nothing else.
        settings: What that backend needs to find them; never a secret. Of an embedded collection,
            what its server knows of it.
        model: The embedder of its vectors; empty if another backend embeds by itself.
        dim: The embedder's dimension; 0 without one.
        revision: The embedder's revision; empty without one.
        created_at: In UTC.
        id: Tells a collection from an earlier one of the same name; 32 hexadecimal digits.
        organization: The slug of the organisation that it belongs to; the operator's belong to
            the default one.
        owner: The e-mail address of whoever made it; empty for the operator's.
        sharing: The others who may read it.
        chunking: How its documents are cut.
        page_handling: What is done with the pages of documents that have pages.
        graph: Whether a graph of the names in its documents is drawn.
        metadata: What clients note about it.
        language: What its words are cut as, see `languages`.
    """

    name: str
    title: str
    backend: str
    settings: Mapping[str, str]
    model: str
    dim: int
    revision: str
    created_at: datetime
    id: str
    organization: str = DEFAULT_ORGANIZATION
    owner: str = ""
    sharing: Sharing = "private"
    chunking: Chunking = field(default_factory=Chunking)
    page_handling: PageHandling = "pictures"
    graph: bool = False
    metadata: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    language: str = ENGLISH

    @property
    def former_id(self) -> str:
        """The identifier that an imported collection had at its server; empty for others."""
        return self.settings.get(FORMER_ID, "") if self.backend == EMBEDDED else ""

    @property
    def public_id(self) -> str:
        """The identifier that callers know it by: `vs_` and `id`."""
        return f"vs_{self.id}"


@dataclass(frozen=True, slots=True)
class CollectionSize:
    """The size of a collection."""

    documents: int
    chunks: int


@dataclass(frozen=True, slots=True)
class Document:
    """A document as it was last ingested.

    Attributes:
        name: Unique in its collection.
        title: From the document, or its name.
        uri: Where it can be found; may be empty.
        media_type: As it was ingested.
        sha256: Of its bytes, in hexadecimal.
        size: In bytes.
        chunks: How many passages it was cut into.
        ingested_at: In UTC.
        metadata: What came with it.
        pages: How many it has; 0 if it has none.
        document_time: The time that it is of, in UTC: as it came, else as it says, else that of
            the ingestion; None before it was read.
        fingerprint: A hash of all that its passages and vectors depend on.
    """

    name: str
    title: str
    uri: str
    media_type: str
    sha256: str
    size: int
    chunks: int
    ingested_at: datetime
    metadata: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    pages: int = 0
    document_time: datetime | None = None
    fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk that a search found.

    Attributes:
        text: The chunk.
        score: The cosine similarity of query and passage, in every mode: -1 to 1, comparable
            between queries of one collection; about 0.3 and more is related with the default
            model. Thresholds compare this.
        relevance: What the passages of one search are ordered by, comparable only among them:
            in `hybrid` the fused score of 0 to 1, in `vector` the cosine, in `text` BM25; all
            after ageing and reranking, if these were asked for.
        document: The name of its document.
        title: The title of its document.
        uri: Where its document can be found; may be empty.
        heading: The titles of the sections around it, the outermost first.
        page: Its page, counted from 1, or None.
        ordinal: Its place in the document, counted from 0.
        parent_text: The passage with its surroundings.
        metadata: What came with its document.
        start: Where it begins in the text that was taken from the document, in characters.
        end: Where it ends, exclusive. `text` is what stands there; a later part of a table has
            the table's header above it.
        document_time: The time that its document is of, in UTC.
        sha256: Of its document's bytes, in hexadecimal.
        has_picture: Whether there is a picture of its page.
        vector_rank: Its place by `score` among what a search compared, counted from 1.
        text_rank: Its place among what a search found by words, counted from 1.
        text_score: Its BM25; None without `text_rank`.
    """

    text: str
    score: float
    relevance: float
    document: str
    title: str
    uri: str
    heading: tuple[str, ...]
    page: int | None
    ordinal: int
    parent_text: str
    metadata: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    start: int = 0
    end: int = 0
    document_time: datetime | None = None
    sha256: str = ""
    has_picture: bool = False
    vector_rank: int | None = None
    text_rank: int | None = None
    text_score: float | None = None


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """Options for the order of passages in a search.

    Attributes:
        recency_weight: How much the age of documents counts, 0 to 1: relevance is multiplied by
            1 - weight + weight * 0.5 ^ (age in days / 180).
        vector_weight: How much meaning counts in `hybrid`, 0 to 1; words count the rest.
        reranking: What orders the best 50 anew: nothing, or the store's reranking model.
        only_relevant: Whether nothing is found if the best passage hardly answers the question.
    """

    recency_weight: float = 0.0
    vector_weight: float = DEFAULT_VECTOR_WEIGHT
    reranking: Reranking = "none"
    only_relevant: bool = False


@dataclass(frozen=True, slots=True)
class IngestProgress:
    """The progress of an ingestion: `done` of `total` steps of a stage (chunks when embedding)."""

    stage: Stage
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Ingested:
    """The acknowledgement: the document is on disk, whole, and searches find it.

    Attributes:
        document: Its name.
        chunks: How many passages it has.
        replaced: An earlier version, or earlier metadata, gave way to this one.
        unchanged: The same content was there already; nothing was done.
    """

    document: str
    chunks: int
    replaced: bool
    unchanged: bool
