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


def treatment(request: pb.Collection) -> dict[str, Any]:
    """Return the fields of a record that say how the documents of a new collection are treated."""
    return {
        "sharing": SHARINGS[request.sharing],
        "chunking": chunking_of(request.chunking),
        "page_handling": PAGES[request.page_handling],
        "late_interaction": request.late_interaction,
        "graph": request.graph,
        "metadata": MappingProxyType(dict(request.metadata)),
        "language": request.language,
    }


def chunking_of(request: pb.Chunking) -> Chunking:
    """Return how documents are cut, with the defaults for what is not said."""
    return Chunking.of(
        request.target_characters, request.overlap_characters, request.parent_characters
    )


def changes(request: pb.UpdateCollectionRequest) -> dict[str, Any]:
    """Return the fields of a record that a request sets anew."""
    fields: dict[str, Any] = {}
    if request.HasField("title"):
        fields["title"] = request.title
    if request.sharing:
        fields["sharing"] = SHARINGS[request.sharing]
    if request.HasField("metadata"):
        fields["metadata"] = MappingProxyType(dict(request.metadata.entries))
    if request.language:
        fields["language"] = language_of(request.language)
    return fields


def document_time(request: pb.IngestDocumentRequest) -> datetime | None:
    """Return the time that a document is said to be of, in UTC."""
    return request.document_time.ToDatetime(UTC) if request.HasField("document_time") else None


def search_options(request: pb.SearchCollectionsRequest) -> SearchOptions:
    """Return how passages are ordered."""
    return SearchOptions(
        recency_weight=request.recency_weight,
        vector_weight=request.vector_weight if request.HasField("vector_weight") else None,
        fusion="reciprocal_rank" if request.fusion == pb.FUSION_RECIPROCAL_RANK else "convex",
        reranking=_RERANKINGS[request.reranking],
    )
