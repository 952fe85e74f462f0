"""`/v1/vector_stores`: collections of the knowledge service as OpenAI's clients know them."""

import asyncio
import re
import secrets
from typing import TYPE_CHECKING, Any

from heddle.knowledge.v1 import files_pb2, knowledge_pb2
from heddle_runtime.errors import AlreadyExistsError, NotFoundError

from heddle_gateway.http import validation
from heddle_gateway.http.body import read_object
from heddle_gateway.http.json_text import Place
from heddle_gateway.http.raw import RawRequest, RawResponse
from heddle_gateway.openai import pagination
from heddle_gateway.openai.chunking import chunking
from heddle_gateway.openai.files import TIMEOUT
from heddle_gateway.services import ask, every

if TYPE_CHECKING:
    from heddle_gateway.state import State

MOST_FILES = 100
"""Files that a store can be made with."""
_PAGE = 200
_FILES_PAGE = 1_000
_LONGEST_NAME = 48
_CREATED = ("name", "file_ids", "chunking_strategy", "metadata", "expires_after", "language")
_UPDATED = ("name", "metadata", "expires_after", "language")
_STATUSES = {
    files_pb2.ATTACHMENT_STATUS_IN_PROGRESS: "in_progress",
    files_pb2.ATTACHMENT_STATUS_COMPLETED: "completed",
    files_pb2.ATTACHMENT_STATUS_FAILED: "failed",
    files_pb2.ATTACHMENT_STATUS_CANCELLED: "cancelled",
}


async def create(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `POST /v1/vector_stores`."""
    given, place = await read_object(state, exchange)
    _refuse_unknown(given, place, _CREATED)
    name = given.get("name")
    title = "" if name is None else validation.text(name, place, "name")
    asked = knowledge_pb2.Collection(
        title=title,
        metadata=_metadata(given.get("metadata"), place.at("metadata")),
        chunking=chunking(given.get("chunking_strategy"), place.at("chunking_strategy")),
        language=_language(given, place),
    )
    identifiers = _identifiers(given.get("file_ids"), place)
    for identifier in identifiers:  # before anything is made
        await ask(state.services.files.GetFile, files_pb2.GetFileRequest(id=identifier), TIMEOUT)
    made = await named(state, asked, title)
    for identifier in identifiers:
        request = files_pb2.AttachFileRequest(collection=made.id, file_id=identifier)
        await ask(state.services.files.AttachFile, request, TIMEOUT)
    return RawResponse.json(await _view(state, made))


async def listing(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `GET /v1/vector_stores`."""
    found = await collections(state)
    found.sort(key=lambda each: (each.create_time.ToMicroseconds(), each.id))
    told = pagination.page(exchange, [{"id": each.id} for each in found])
    by_id = {each.id: each for each in found}
    views = (_view_if_there(state, by_id[each["id"]]) for each in told["data"])
    there = [view for view in await asyncio.gather(*views) if view is not None]
    return RawResponse.json(told | pagination.shown(there))


async def get(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `GET /v1/vector_stores/{id}`."""
    request = knowledge_pb2.GetCollectionRequest(name=exchange.parameter)
    found = await ask(state.services.knowledge.GetCollection, request, TIMEOUT)
    return RawResponse.json(await _view(state, found.collection))


async def update(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `POST /v1/vector_stores/{id}`."""
    given, place = await read_object(state, exchange)
    _refuse_unknown(given, place, _UPDATED)
    language = _language(given, place)
    request = knowledge_pb2.UpdateCollectionRequest(name=exchange.parameter, language=language)
    if (name := given.get("name")) is not None:
        request.title = validation.text(name, place, "name")
    if (metadata := given.get("metadata")) is not None:
        request.metadata.SetInParent()
        request.metadata.entries.update(_metadata(metadata, place.at("metadata")))
    changed = await ask(state.services.knowledge.UpdateCollection, request, TIMEOUT)
    return RawResponse.json(await _view(state, changed.collection))


async def delete(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `DELETE /v1/vector_stores/{id}`."""
    request = knowledge_pb2.DeleteCollectionRequest(name=exchange.parameter)
    await ask(state.services.knowledge.DeleteCollection, request, TIMEOUT)
    told = {"id": exchange.parameter, "object": "vector_store.deleted", "deleted": True}
    return RawResponse.json(told)


async def named(
    state: "State", asked: knowledge_pb2.Collection, title: str
) -> knowledge_pb2.Collection:
    """Make a collection under a name like its title that the organisation does not have yet.

    Raises:
        HeddleError: It cannot be made.
    """
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", title).strip("_.-")[:_LONGEST_NAME]
    asked.name = plain or f"vector-store-{secrets.token_hex(4)}"
    request = knowledge_pb2.CreateCollectionRequest(collection=asked)
    try:
        return (await ask(state.services.knowledge.CreateCollection, request, TIMEOUT)).collection
    except AlreadyExistsError:
        request.collection.name = f"{asked.name}-{secrets.token_hex(4)}"
        return (await ask(state.services.knowledge.CreateCollection, request, TIMEOUT)).collection


async def collections(state: "State") -> list[knowledge_pb2.Collection]:
    """Return all collections that the caller may read.

    Raises:
        HeddleError: They cannot be had.
    """
    request = knowledge_pb2.ListCollectionsRequest(page_size=_PAGE)
    return [
        each
        async for page in every(state.services.knowledge.ListCollections, request, TIMEOUT)
        for each in page.collections
    ]


async def attached(state: "State", collection: str) -> list[files_pb2.AttachedFile]:
    """Return the files of a collection, the oldest first.

    Raises:
        HeddleError: They cannot be had.
    """
    request = files_pb2.ListAttachedFilesRequest(collection=collection, page_size=_FILES_PAGE)
    return [
        each
        async for page in every(state.services.files.ListAttachedFiles, request, TIMEOUT)
        for each in page.files
    ]


def status(file: files_pb2.AttachedFile) -> str:
    """Return how far a file is, in OpenAI's words."""
    return _STATUSES.get(file.status, "failed")


async def _view_if_there(state: "State", found: knowledge_pb2.Collection) -> dict[str, Any] | None:
    try:
        return await _view(state, found)
    except NotFoundError:  # deleted since it was listed
        return None


async def _view(state: "State", found: knowledge_pb2.Collection) -> dict[str, Any]:
    files = await attached(state, found.id)
    states = [status(each) for each in files]
    counts = {name: states.count(name) for name in _STATUSES.values()}
    return {
        "id": found.id,
        "object": "vector_store",
        "created_at": found.create_time.seconds,
        "name": found.title or found.name,
        "usage_bytes": sum(each.size for each in files),
        "file_counts": {**counts, "total": len(files)},
        "status": "in_progress" if counts["in_progress"] else "completed",
        "expires_after": None,
        "expires_at": None,
        "last_active_at": None,
        "metadata": dict(found.metadata),
        "language": found.language,
    }


def _refuse_unknown(given: dict[str, Any], place: Place, known: tuple[str, ...]) -> None:
    for name in given:
        if name not in known:
            raise place.at(name).wrong("is not known here")
    if given.get("expires_after") is not None:
        raise place.at("expires_after").wrong(
            "is not possible here: stores stay until they are deleted"
        )


def _language(given: dict[str, Any], place: Place) -> str:
    """Return what the knowledge service then judges; OpenAI's form has no such field."""
    tag = given.get("language")
    return "" if tag is None else validation.text(tag, place, "language")


def _identifiers(given: object, place: Place) -> list[str]:
    items = [] if given is None else validation.items(given, place, "file_ids", most=MOST_FILES)
    return [validation.text(each, place, "file_ids", index) for index, each in enumerate(items)]


def _metadata(given: object, place: Place) -> dict[str, str]:
    if given is None:
        return {}
    told = validation.mapping(given, place)
    return {key: validation.text(value, place, key) for key, value in told.items()}
