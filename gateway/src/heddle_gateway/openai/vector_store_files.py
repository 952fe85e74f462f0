"""`/v1/vector_stores/{id}/files`: what is in a vector store, and how far it is."""

from typing import TYPE_CHECKING, Any

from google.protobuf.struct_pb2 import Struct
from heddle.knowledge.v1 import files_pb2, knowledge_pb2
from heddle_runtime.struct_codec import from_struct

from heddle_gateway.http import query_parameters, validation
from heddle_gateway.http.body import read_object
from heddle_gateway.http.json_text import Place
from heddle_gateway.http.raw import RawRequest, RawResponse
from heddle_gateway.openai import pagination
from heddle_gateway.openai.chunking import chunking, strategy
from heddle_gateway.openai.files import TIMEOUT
from heddle_gateway.openai.vector_stores import attached, status
from heddle_gateway.services import ask, every

if TYPE_CHECKING:
    from heddle_gateway.state import State

STATES = ("in_progress", "completed", "failed", "cancelled")
_DOCUMENT = "doc_"
"""How the identifiers of documents begin that came another way."""
_PASSAGES = 1_000


async def create(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `POST /v1/vector_stores/{id}/files`."""
    given, place = await read_object(state, exchange)
    store = await store_of(state, exchange)
    check_chunking(given, place, store)
    request = files_pb2.AttachFileRequest(
        collection=store.id,
        file_id=validation.text(given.get("file_id"), place, "file_id", empty=False),
        attributes=attributes(given, place),
    )
    made = await ask(state.services.files.AttachFile, request, TIMEOUT)
    return RawResponse.json(view(made.file, store))


async def listing(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `GET /v1/vector_stores/{id}/files`."""
    wanted = query_parameters.choice(exchange, "filter", STATES)
    store = await store_of(state, exchange)
    files = [
        view(each, store)
        for each in await attached(state, store.id)
        if wanted in ("", status(each))
    ]
    return RawResponse.json(pagination.page(exchange, files))


async def get(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `GET /v1/vector_stores/{id}/files/{file}`."""
    store, identifier = await store_of(state, exchange), exchange.parameters[1]
    if identifier.startswith(_DOCUMENT):
        return RawResponse.json(_document_view(await _document(state, store.id, identifier), store))
    request = files_pb2.GetAttachedFileRequest(collection=store.id, file_id=identifier)
    found = await ask(state.services.files.GetAttachedFile, request, TIMEOUT)
    return RawResponse.json(view(found.file, store))


async def update(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `POST /v1/vector_stores/{id}/files/{file}`."""
    given, place = await read_object(state, exchange)
    store = await store_of(state, exchange)
    request = files_pb2.UpdateAttachedFileRequest(
        collection=store.id,
        file_id=exchange.parameters[1],
        attributes=attributes(given, place),
    )
    changed = await ask(state.services.files.UpdateAttachedFile, request, TIMEOUT)
    return RawResponse.json(view(changed.file, store))


async def delete(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `DELETE /v1/vector_stores/{id}/files/{file}`."""
    store, identifier = exchange.parameters
    if identifier.startswith(_DOCUMENT):
        gone = knowledge_pb2.DeleteDocumentRequest(collection=store, name=identifier)
        await ask(state.services.knowledge.DeleteDocument, gone, TIMEOUT)
    else:
        request = files_pb2.DetachFileRequest(collection=store, file_id=identifier)
        await ask(state.services.files.DetachFile, request, TIMEOUT)
    told = {"id": identifier, "object": "vector_store.file.deleted", "deleted": True}
    return RawResponse.json(told)


async def content(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `GET /v1/vector_stores/{id}/files/{file}/content`: the text that was taken from it."""
    store, identifier = exchange.parameters
    document = identifier
    if not identifier.startswith(_DOCUMENT):
        asked = files_pb2.GetAttachedFileRequest(collection=store, file_id=identifier)
        document = (await ask(state.services.files.GetAttachedFile, asked, TIMEOUT)).file.document
    request = knowledge_pb2.ListPassagesRequest(
        collection=store, document=document, page_size=_PASSAGES
    )
    texts = [
        {"type": "text", "text": passage.text}
        async for page in every(state.services.knowledge.ListPassages, request, TIMEOUT)
        for passage in page.passages
    ]
    told = {
        "object": "vector_store.file_content.page",
        "data": texts,
        "has_more": False,
        "next_page": None,
    }
    return RawResponse.json(told)


def view(file: files_pb2.AttachedFile, store: knowledge_pb2.Collection) -> dict[str, Any]:
    """Return a file of a vector store as OpenAI's clients know it."""
    code = "invalid_file" if file.unreadable else "server_error"
    return {
        "id": file.file_id,
        "object": "vector_store.file",
        "usage_bytes": file.size,
        "created_at": file.create_time.seconds,
        "vector_store_id": store.id,
        "status": status(file),
        "last_error": {"code": code, "message": file.error} if file.error else None,
        "chunking_strategy": strategy(store.chunking),
        "attributes": from_struct(file.attributes),
    }


async def store_of(state: "State", exchange: RawRequest) -> knowledge_pb2.Collection:
    """Return the vector store that a path names.

    Raises:
        HeddleError: It cannot be had.
    """
    request = knowledge_pb2.GetCollectionRequest(name=exchange.parameter)
    return (await ask(state.services.knowledge.GetCollection, request, TIMEOUT)).collection


def check_chunking(given: dict[str, Any], place: Place, store: knowledge_pb2.Collection) -> None:
    """Refuse a chunking strategy that is not that of the store.

    Raises:
        InvalidRequestError: It is not, or it is none.
    """
    asked = chunking(given.get("chunking_strategy"), place.at("chunking_strategy"))
    if asked is not None and strategy(asked) != strategy(store.chunking):
        raise place.at("chunking_strategy").wrong(
            "must be that of the vector store: all of its files are cut alike"
        )


def attributes(given: dict[str, Any], place: Place) -> Struct | None:
    """Return the attributes of a file, if there are any.

    Raises:
        InvalidRequestError: They are none.
    """
    told = given.get("attributes")
    return None if told is None else validation.struct(told, place, "attributes")


async def _document(state: "State", store: str, identifier: str) -> knowledge_pb2.Document:
    request = knowledge_pb2.GetDocumentRequest(collection=store, name=identifier)
    return (await ask(state.services.knowledge.GetDocument, request, TIMEOUT)).document


def _document_view(
    document: knowledge_pb2.Document, store: knowledge_pb2.Collection
) -> dict[str, Any]:
    return {
        "id": document.id,
        "object": "vector_store.file",
        "usage_bytes": document.size,
        "created_at": document.ingest_time.seconds,
        "vector_store_id": store.id,
        "status": "completed",
        "last_error": None,
        "chunking_strategy": strategy(store.chunking),
        "attributes": dict(document.metadata),
    }
