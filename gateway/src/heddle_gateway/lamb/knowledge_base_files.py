"""`/collections/{id}/files`: files in the form of LAMB's own knowledge-base server."""

from typing import TYPE_CHECKING, Any

from heddle.knowledge.v1 import files_pb2 as pb
from heddle_runtime.errors import HeddleError

from heddle_gateway.http import validation
from heddle_gateway.http.body import read_object
from heddle_gateway.http.multipart import read_form, wrong
from heddle_gateway.http.raw import RawRequest, RawResponse
from heddle_gateway.lamb.knowledge_bases import QUERY_PLUGINS, collection, forget
from heddle_gateway.openai.files import TIMEOUT, kept
from heddle_gateway.openai.vector_stores import attached, status
from heddle_gateway.services import ask

if TYPE_CHECKING:
    from heddle_gateway.state import State

_INGEST = "simple_ingest"
_STATES = {"in_progress": "processing", "cancelled": "failed"}


async def ingest(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `POST /collections/{id}/ingest-file`; the file is read in the background."""
    form = await read_form(state, exchange)
    plugin = form.fields.get("plugin_name", _INGEST)
    if plugin != _INGEST:
        raise wrong("plugin_name", f"must be {_INGEST}: files are read by their type")
    found = await collection(state, exchange)
    file = await kept(state, form, "assistants")
    request = pb.AttachFileRequest(collection=found.id, file_id=file.id)
    try:
        await ask(state.services.files.AttachFile, request, TIMEOUT)
    except HeddleError:
        await forget(state, file.id)
        raise
    told = {
        "collection_id": found.id,
        "collection_name": found.title or found.name,
        "documents_added": 0,
        "success": True,
        "file_path": "",
        "file_url": "",
        "original_filename": file.filename,
        "plugin_name": _INGEST,
        "file_registry_id": file.id,
        "status": "processing",
    }
    return RawResponse.json(told)


async def listing(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `GET /collections/{id}/files`."""
    found = await collection(state, exchange)
    return RawResponse.json([_view(each) for each in await attached(state, found.id)])


async def delete(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `DELETE /collections/{id}/files/{file}`."""
    store, identifier = exchange.parameters
    request = pb.DetachFileRequest(collection=store, file_id=identifier)
    await ask(state.services.files.DetachFile, request, TIMEOUT)
    await forget(state, identifier)
    return RawResponse.json({"id": identifier, "collection_id": store, "deleted": True})


async def organization(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `POST /organizations`: LAMB announces its own here, and the key tells which it is."""
    given, place = await read_object(state, exchange)
    told = {
        name: validation.text(given.get(name), place, name, empty=False)
        for name in ("external_id", "name")
    }
    return RawResponse.json({"id": told["external_id"], **told})


async def query_plugins(_: "State", __: RawRequest) -> RawResponse:
    """Answer `GET /query/plugins`."""
    descriptions = ("Finds passages.", "Finds passages, with the section around each.")
    return RawResponse.json(
        [
            {"name": name, "description": text, "parameters": {}}
            for name, text in zip(QUERY_PLUGINS, descriptions, strict=True)
        ]
    )


async def ingestion_plugins(_: "State", __: RawRequest) -> RawResponse:
    """Answer `GET /ingestion/plugins`."""
    description = "Reads a file by its type: Markdown, HTML, text, PDF."
    plugin = {"name": _INGEST, "description": description, "kind": "file-ingest", "parameters": {}}
    return RawResponse.json([plugin])


def _view(file: pb.AttachedFile) -> dict[str, Any]:
    state = status(file)
    return {
        "id": file.file_id,
        "collection_id": file.collection_id,
        "original_filename": file.filename,
        "file_url": "",
        "file_size": file.size,
        "plugin_name": _INGEST,
        "status": _STATES.get(state, state),
        "error_message": file.error or None,
        "created_at": file.create_time.seconds,
    }
