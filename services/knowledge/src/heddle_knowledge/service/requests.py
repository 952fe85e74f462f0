"""Requests of the contract as the store takes them."""

from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from google.protobuf.descriptor import EnumDescriptor
from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_runtime.contract.enums import enum_names

from heddle_knowledge.chunking.options import Chunking
from heddle_knowledge.collection.types import SHARES, Collection, Sharing
from heddle_knowledge.engines.languages import language_of


def choice(enum: EnumDescriptor, value: int, default: str) -> Any:  # noqa: ANN401 - a literal of `records`
    """Return a value of an enum by its name in the engine, `default` if it is not specified."""
    return enum_names(enum)[value] if value else default


def sharing_of(value: int) -> Sharing:
    """Return the sharing of a collection; by default, nobody else may read it."""
    sharing: Sharing = choice(pb.Sharing.DESCRIPTOR, value, "private")
    return sharing


def treatment(request: pb.Collection) -> dict[str, Any]:
    """Return the fields of a record that say how the documents of a new collection are treated."""
    return {
        "sharing": sharing_of(request.sharing),
        "chunking": chunking_of(request.chunking),
        "page_handling": choice(pb.PageHandling.DESCRIPTOR, request.page_handling, "pictures"),
        "graph": request.graph,
        "metadata": MappingProxyType(dict(request.metadata)),
        "language": request.language,
    }


def chunking_of(request: pb.Chunking) -> Chunking:
    """Return the options of splitting documents, with defaults for missing ones."""
    return Chunking.of(
        request.target_characters, request.overlap_characters, request.parent_characters
    )


def changes(request: pb.UpdateCollectionRequest, former: Collection) -> dict[str, Any]:
    """Return the fields of a record that a request changes."""
    fields: dict[str, Any] = {}
    if request.HasField("title"):
        fields["title"] = request.title
    if request.sharing:
        fields["sharing"] = sharing_of(request.sharing)
        rest = {name: value for name, value in former.settings.items() if name != SHARES}
        fields["settings"] = MappingProxyType(rest)
    if request.HasField("metadata"):
        fields["metadata"] = MappingProxyType(dict(request.metadata.entries))
    if request.language:
        fields["language"] = language_of(request.language)
    return fields


def document_time(request: pb.IngestDocumentRequest) -> datetime | None:
    """Return the time that a document is said to be of, in UTC."""
    return request.document_time.ToDatetime(UTC) if request.HasField("document_time") else None
