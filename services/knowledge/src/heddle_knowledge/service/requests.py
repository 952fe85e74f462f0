"""Requests of the contract as the store takes them."""

from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from heddle.knowledge.v1 import knowledge_pb2 as pb

from heddle_knowledge.chunking.options import Chunking
from heddle_knowledge.languages import language_of
from heddle_knowledge.records import (
    Mode,
    PageHandling,
    Reranking,
    SearchOptions,
    Sharing,
)

MODES: dict[pb.SearchMode.ValueType, Mode] = {
    pb.SEARCH_MODE_UNSPECIFIED: "hybrid",
    pb.SEARCH_MODE_HYBRID: "hybrid",
    pb.SEARCH_MODE_VECTOR: "vector",
    pb.SEARCH_MODE_TEXT: "text",
}
_RERANKINGS: dict[pb.Reranking.ValueType, Reranking] = {
    pb.RERANKING_UNSPECIFIED: "none",
    pb.RERANKING_NONE: "none",
    pb.RERANKING_LATE_INTERACTION: "late_interaction",
    pb.RERANKING_MODEL: "model",
}
SHARINGS: dict[pb.Sharing.ValueType, Sharing] = {
    pb.SHARING_UNSPECIFIED: "private",
    pb.SHARING_PRIVATE: "private",
    pb.SHARING_ORGANIZATION: "organization",
    pb.SHARING_EVERYONE: "everyone",
}
PAGES: dict[pb.PageHandling.ValueType, PageHandling] = {
    pb.PAGE_HANDLING_UNSPECIFIED: "pictures",
    pb.PAGE_HANDLING_TEXT: "text",
    pb.PAGE_HANDLING_PICTURES: "pictures",
    pb.PAGE_HANDLING_SEARCH: "search",
}


Search = pb.SearchCollectionRequest | pb.SearchCollectionsRequest
"""A request for passages, of one collection or several."""


def treatment(asked: pb.Collection) -> dict[str, Any]:
    """Return the fields of a record that say how the documents of a new collection are treated."""
    return {
        "sharing": SHARINGS[asked.sharing],
        "chunking": chunking_of(asked.chunking),
        "page_handling": PAGES[asked.page_handling],
        "late_interaction": asked.late_interaction,
        "graph": asked.graph,
        "metadata": MappingProxyType(dict(asked.metadata)),
        "language": asked.language,
    }


def chunking_of(asked: pb.Chunking) -> Chunking:
    """Return how documents are cut, with the defaults for what is not said."""
    return Chunking.of(asked.target_characters, asked.overlap_characters, asked.parent_characters)


def changes(asked: pb.UpdateCollectionRequest) -> dict[str, Any]:
    """Return the fields of a record that a request sets anew."""
    told: dict[str, Any] = {}
    if asked.HasField("title"):
        told["title"] = asked.title
    if asked.sharing:
        told["sharing"] = SHARINGS[asked.sharing]
    if asked.HasField("metadata"):
        told["metadata"] = MappingProxyType(dict(asked.metadata.entries))
    if asked.language:
        told["language"] = language_of(asked.language)
    return told


def document_time(asked: pb.IngestDocumentRequest) -> datetime | None:
    """Return the time that a document is said to be of, in UTC."""
    return asked.document_time.ToDatetime(UTC) if asked.HasField("document_time") else None


def search_options(asked: Search) -> SearchOptions:
    """Return how passages are ordered."""
    return SearchOptions(
        recency_weight=asked.recency_weight,
        vector_weight=asked.vector_weight if asked.HasField("vector_weight") else None,
        fusion="reciprocal_rank" if asked.fusion == pb.FUSION_RECIPROCAL_RANK else "convex",
        reranking=_RERANKINGS[asked.reranking],
    )
