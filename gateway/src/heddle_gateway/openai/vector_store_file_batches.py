"""`/v1/vector_stores/{id}/file_batches`: several files on their way into a vector store."""

from typing import TYPE_CHECKING, Any

from heddle.knowledge.v1 import files_pb2

from heddle_gateway.http import query_parameters, validation
from heddle_gateway.http.body import read_object
from heddle_gateway.http.json_text import Place
from heddle_gateway.http.raw import RawRequest, RawResponse
from heddle_gateway.openai import pagination
from heddle_gateway.openai.files import TIMEOUT
from heddle_gateway.openai.vector_store_files import (
    STATES,
    attributes,
    check_chunking,
    store_of,
    view,
)
from heddle_gateway.openai.vector_stores import status
from heddle_gateway.services import ask, every

if TYPE_CHECKING:
    from heddle.knowledge.v1.knowledge_pb2 import Collection

    from heddle_gateway.state import State

MOST_FILES = 2_000
_PAGE = 1_000
_KNOWN = ("file_ids", "files", "attributes", "chunking_strategy")
_KNOWN_OF_FILE = ("file_id", "attributes", "chunking_strategy")
_STATUSES = {
    files_pb2.FILE_BATCH_STATUS_IN_PROGRESS: "in_progress",
    files_pb2.FILE_BATCH_STATUS_COMPLETED: "completed",
    files_pb2.FILE_BATCH_STATUS_CANCELLED: "cancelled",
}


async def create(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `POST /v1/vector_stores/{id}/file_batches`."""
    given, place = await read_object(state, exchange)
    store = await store_of(state, exchange)
    files = _files(given, place, store)
    request = files_pb2.CreateFileBatchRequest(collection=store.id, files=files)
    made = await ask(state.services.files.CreateFileBatch, request, TIMEOUT)
    return RawResponse.json(_view(made.batch))


async def get(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `GET /v1/vector_stores/{id}/file_batches/{batch}`."""
    store, batch = exchange.parameters
    request = files_pb2.GetFileBatchRequest(collection=store, batch_id=batch)
    found = await ask(state.services.files.GetFileBatch, request, TIMEOUT)
    return RawResponse.json(_view(found.batch))


async def cancel(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `POST /v1/vector_stores/{id}/file_batches/{batch}/cancel`."""
    store, batch = exchange.parameters
    request = files_pb2.CancelFileBatchRequest(collection=store, batch_id=batch)
    cancelled = await ask(state.services.files.CancelFileBatch, request, TIMEOUT)
    return RawResponse.json(_view(cancelled.batch))


async def listing(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `GET /v1/vector_stores/{id}/file_batches/{batch}/files`."""
    wanted = query_parameters.choice(exchange, "filter", STATES)
    store = await store_of(state, exchange)
    request = files_pb2.ListFileBatchFilesRequest(
        collection=store.id, batch_id=exchange.parameters[1], page_size=_PAGE
    )
    found = [
        view(each, store)
        async for page in every(state.services.files.ListFileBatchFiles, request, TIMEOUT)
        for each in page.files
        if wanted in ("", status(each))
    ]
    return RawResponse.json(pagination.page(exchange, found))


def _files(given: dict[str, Any], place: Place, store: "Collection") -> list[files_pb2.BatchedFile]:
    """Return the files of a new batch.

    Raises:
        InvalidRequestError: The body is wrong.
    """
    _refuse_unknown(given, place, _KNOWN)
    alike, each_own = given.get("file_ids"), given.get("files")
    if (alike is None) == (each_own is None):
        raise place.at("file_ids").wrong("or files must be given, and not both")
    if each_own is not None:
        return [
            _file(each, place.at("files", index), store)
            for index, each in enumerate(_some(each_own, place, "files"))
        ]
    check_chunking(given, place, store)
    noted = attributes(given, place)
    return [
        files_pb2.BatchedFile(
            file_id=validation.text(each, place, "file_ids", index, empty=False), attributes=noted
        )
        for index, each in enumerate(_some(alike, place, "file_ids"))
    ]


def _file(given: object, place: Place, store: "Collection") -> files_pb2.BatchedFile:
    told = validation.mapping(given, place)
    _refuse_unknown(told, place, _KNOWN_OF_FILE)
    check_chunking(told, place, store)
    return files_pb2.BatchedFile(
        file_id=validation.text(told.get("file_id"), place, "file_id", empty=False),
        attributes=attributes(told, place),
    )


def _some(given: object, place: Place, name: str) -> list[Any]:
    items = validation.items(given, place, name, most=MOST_FILES)
    if not items:
        raise place.at(name).wrong("must not be empty")
    return items


def _refuse_unknown(given: dict[str, Any], place: Place, known: tuple[str, ...]) -> None:
    for name in given:
        if name not in known:
            raise place.at(name).wrong("is not known here")


def _view(batch: files_pb2.FileBatch) -> dict[str, Any]:
    counts = {
        "in_progress": batch.in_progress_count,
        "completed": batch.completed_count,
        "failed": batch.failed_count,
        "cancelled": batch.cancelled_count,
    }
    return {
        "id": batch.id,
        "object": "vector_store.files_batch",
        "created_at": batch.create_time.seconds,
        "vector_store_id": batch.collection_id,
        "status": _STATUSES.get(batch.status, "failed"),
        "file_counts": {**counts, "total": sum(counts.values())},
    }
