"""Adds documents to a collection, one call for each."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import grpc
from heddle.knowledge.v1 import knowledge_pb2
from heddle.knowledge.v1.knowledge_pb2_grpc import KnowledgeServiceStub
from heddle_runtime.errors import (
    AlreadyExistsError,
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
    UnauthenticatedError,
    UnavailableError,
)

from heddle_cli.connections import Connection
from heddle_cli.documents import Document
from heddle_cli.failures import sentence
from heddle_cli.progress import Progress
from heddle_cli.terminal import counted

MAX_BYTES = 30 * 1024 * 1024
MAX_SECONDS = 600.0
"""Seconds for one document; a book of a thousand pages takes minutes on a small machine."""
_CREATING = 60.0
"""Seconds for a new collection: the service may have to load the embedding model first."""

State = Literal["new", "replaced", "unchanged", "unreadable", "failed"]
# The next document would fail with the same error.
_PERMANENT = (NotFoundError, PermissionDeniedError, UnauthenticatedError, UnavailableError)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result for one document."""

    state: State
    note: str
    """The number of passages, or the reason of the failure."""


def ensure_collection(
    connection: Connection[KnowledgeServiceStub], collection: knowledge_pb2.Collection
) -> bool:
    """Create the collection if it does not exist, and return whether it was created."""
    request = knowledge_pb2.CreateCollectionRequest(collection=collection)
    try:
        connection.stub.CreateCollection(request, timeout=_CREATING)
    except grpc.RpcError as error:
        known = connection.failure(error)
        if isinstance(known, AlreadyExistsError):
            return False
        raise known from error
    return True


def _content(path: Path) -> bytes | Outcome:
    """Return what a file contains, or why it cannot be sent."""
    try:
        if path.stat().st_size > MAX_BYTES:
            return Outcome("unreadable", f"is larger than {MAX_BYTES >> 20} MiB")
        return path.read_bytes() or Outcome("unreadable", "is empty")
    except OSError as error:
        return Outcome("unreadable", error.strerror or type(error).__name__)


def ingest_document(
    connection: Connection[KnowledgeServiceStub],
    common: knowledge_pb2.IngestDocumentRequest,
    document: Document,
    progress: Progress,
) -> Outcome:
    """Add a document to a collection.

    Args:
        connection: The connection to the knowledge service.
        common: The collection, and the members that all documents share.
        document: The file.
        progress: Shows how far the document is.

    Raises:
        HeddleError: The next document would fail for the same reason.
    """
    data = _content(document.path)
    if isinstance(data, Outcome):
        return data
    try:
        request = knowledge_pb2.IngestDocumentRequest(
            name=document.name, data=data, media_type=document.media_type, uri=document.uri
        )
    except UnicodeEncodeError:
        return Outcome("unreadable", "has a name that is not UTF-8, rename it")
    request.MergeFrom(common)
    try:
        return _ingested(connection, request, progress)
    except grpc.RpcError as error:
        known = connection.failure(error)
        if isinstance(known, _PERMANENT):
            raise known from error
        refused = isinstance(known, InvalidRequestError)
        return Outcome("unreadable" if refused else "failed", sentence(known))


def _ingested(
    connection: Connection[KnowledgeServiceStub],
    request: knowledge_pb2.IngestDocumentRequest,
    progress: Progress,
) -> Outcome:
    outcome = Outcome("failed", "The answer of the service was cut off.")
    call = connection.stub.IngestDocument(request, timeout=MAX_SECONDS)
    try:
        for response in call:
            match response.WhichOneof("event"):
                case "progress":
                    step = response.progress
                    progress(step.stage, step.done, step.total)
                case "ingested":
                    outcome = _outcome(response.ingested)
                case None:  # an event of a newer contract
                    continue
    finally:
        call.cancel()  # Ctrl-C: the service stops too
    return outcome


def _outcome(ingested: knowledge_pb2.Ingested) -> Outcome:
    note = counted(ingested.document.passage_count, "passage")
    if ingested.unchanged:
        return Outcome("unchanged", note)
    return Outcome("replaced" if ingested.replaced else "new", note)
