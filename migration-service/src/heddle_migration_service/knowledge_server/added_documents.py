"""`/collections/{id}/documents`: texts that LAMB's clients have read and cut themselves."""

import asyncio
import hashlib
import json
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

import grpc
from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_gateway.http.error_responses import invalid
from heddle_gateway.http.models import Model
from heddle_gateway.routing import Call, Routes
from heddle_gateway.services import CALL_SECONDS, ServiceClients
from heddle_runtime.errors import InvalidRequestError, PermissionDeniedError, Violation, from_rpc
from heddle_runtime.http.egress import document_address_problem
from heddle_runtime.identity.call_metadata import new_call_options
from pydantic import Field

from heddle_migration_service.knowledge_server.knowledge_bases import TAG
from heddle_migration_service.knowledge_server.numbers import (
    CollectionId,
    get_collection,
    number_in_lamb,
)

MAX_DOCUMENTS = 1_000
_AT_ONCE = 8
_MAX_NAME = 200
_DIGITS = 16
routes = Routes(TAG)


class NewDocument(Model):
    """A text and what belongs to it."""

    text: str = Field(min_length=1)
    metadata: dict[str, Any] = Field(
        default={},
        description="Results repeat it, numbers as text. `filename` or `source` names the "
        "document, and `source_url` is where people can read it.",
    )


class NewDocuments(Model):
    """Texts to add."""

    documents: Annotated[list[NewDocument], Field(min_length=1, max_length=MAX_DOCUMENTS)]


class AddedDocuments(Model):
    """The texts are in the collection."""

    collection_id: int
    collection_name: str
    documents_added: int
    success: Literal[True] = True
    status: Literal["completed"] = "completed"


@routes.post("/collections/{id}/documents", errors=(403, 404))
async def add(api: Call, id_: CollectionId, body: NewDocuments) -> AddedDocuments:
    """Add texts to a collection, and return when searches find them.

    The same text with the same metadata is one document, so a request can be repeated. If a text
    is refused, the others may have been added.
    """
    for index, document in enumerate(body.documents):
        if not document.text.strip():
            raise invalid(f"documents[{index}].text", "must not be blank")
    collection = await get_collection(api.services, id_)
    if not collection.changeable:
        raise PermissionDeniedError("The collection is shared for reading.")
    slots = asyncio.Semaphore(_AT_ONCE)

    async def ingested(index: int, document: NewDocument) -> None:
        async with slots:
            await _ingest(api.services, _request(collection.id, document), f"documents[{index}]")

    outcomes = await asyncio.gather(
        *(ingested(index, each) for index, each in enumerate(body.documents)),
        return_exceptions=True,
    )
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return AddedDocuments(
        collection_id=number_in_lamb(collection),
        collection_name=collection.title or collection.name,
        documents_added=len(outcomes),
    )


async def _ingest(services: ServiceClients, request: pb.IngestDocumentRequest, place: str) -> None:
    """Add a text; `place` is where the request of the client has it.

    Raises:
        HeddleError: It cannot be added.
    """
    try:
        responses = services.knowledge.IngestDocument(request, **new_call_options(CALL_SECONDS))
        async for _ in responses:
            pass
    except grpc.aio.AioRpcError as error:
        refusal = from_rpc(error)
        if isinstance(refusal, InvalidRequestError):
            violations = [
                Violation(f"{place}.{each.field}", each.description) for each in refusal.violations
            ]
            raise InvalidRequestError(f"{place}: {refusal.message}", violations) from error
        raise refusal from error


def _request(collection: str, document: NewDocument) -> pb.IngestDocumentRequest:
    source = str(document.metadata.get("source_url") or "")
    return pb.IngestDocumentRequest(
        collection=collection,
        name=_name(document),
        data=document.text.encode(),
        media_type="text/plain;charset=utf-8",
        uri="" if document_address_problem(source) else source,
        metadata=_texts(document.metadata),
    )


def _name(document: NewDocument) -> str:
    """Return a name that the same text with the same metadata always gets."""
    content = json.dumps([document.text, document.metadata], sort_keys=True)
    digest = hashlib.sha256(content.encode()).hexdigest()[:_DIGITS]
    metadata = document.metadata
    source = str(metadata.get("filename") or metadata.get("source") or "document")
    printable = "".join(each for each in source if each.isprintable())
    return f"{PurePosixPath(printable).name[:_MAX_NAME] or 'document'}#{digest}"


def _texts(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Return metadata as the service stores it; empty values are left out."""
    return {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in metadata.items()
        if value is not None
    }
