"""`/collections/{id}/files`: files in the form of LAMB's own knowledge-base server."""

from contextlib import suppress
from typing import Any, Literal

from heddle.knowledge.v1 import files_pb2 as pb
from heddle_gateway.http.json_text import parse
from heddle_gateway.http.models import Deleted, Model, Name
from heddle_gateway.openai.files import download
from heddle_gateway.openai.vector_store_files import AttachedFileId
from heddle_gateway.openai.vector_stores import attached_files, get_collection, status
from heddle_gateway.routing import Call, Routes
from heddle_gateway.services import call
from heddle_runtime.contract.struct_codec import from_struct
from heddle_runtime.errors import InvalidRequestError
from pydantic import Field
from starlette.responses import Response

from heddle_migration_service.knowledge_server.knowledge_bases import (
    TAG,
    CollectionId,
    delete_unattached,
)
from heddle_migration_service.knowledge_server.results import PARAMETERS, content_path

PLUGIN = "lamb_plugin"
"""The attribute of an attached file with the plugin that LAMB has named."""
_DEFAULT = "simple_ingest"
_STATUSES = {"in_progress": "processing"}
routes = Routes(TAG)


class CollectionFile(Model):
    """A file of a collection."""

    id: str
    collection_id: str
    original_filename: str
    file_url: str = ""
    file_size: int
    plugin_name: str
    status: str
    error_message: str | None
    created_at: int


class FileQuery(Model):
    """Which files to list."""

    status: Literal["processing", "completed", "failed", "cancelled", "deleted"] | None = Field(
        default=None, description="Only files with this status. No file of a list is deleted."
    )


class DeletedCollectionFile(Deleted):
    """The file is deleted."""

    collection_id: str


class Organization(Model):
    """An organisation of LAMB."""

    external_id: Name
    name: Name


class NotedOrganization(Organization):
    """The organisation of the request."""

    id: str


@routes.get("/collections/{id}/files", errors=(400, 404))
async def list_collection_files(
    api: Call, id_: CollectionId, query: FileQuery
) -> list[CollectionFile]:
    """List the files of a collection and their status."""
    collection = await get_collection(api.services, id_)
    files = await attached_files(api.services, collection.id)
    views = [_view(each) for each in files]
    return [each for each in views if query.status in (None, each.status)]


@routes.get(
    "/collections/{id}/files/{file}/content",
    content=("application/octet-stream",),
    errors=(400, 404),
)
async def content(api: Call, id_: CollectionId, file: AttachedFileId) -> Response:
    """Get the content of a file of a collection, the address in `file_url`."""
    request = pb.GetFileContentRequest(collection=id_, id=file)
    response = await call(api.services.files.GetFileContent, request)
    return download(response.data)


@routes.delete("/collections/{id}/files/{file}", errors=(400, 404))
async def delete(api: Call, id_: CollectionId, file: AttachedFileId) -> DeletedCollectionFile:
    """Delete a file of a collection."""
    request = pb.DetachFileRequest(collection=id_, file_id=file)
    await call(api.services.files.DetachFile, request)
    await delete_unattached(api.services, file)
    return DeletedCollectionFile(id=file, collection_id=id_)


@routes.post("/organizations")
async def organization(_: Call, body: Organization) -> NotedOrganization:
    """Accept an organisation of LAMB. Nothing is stored: the key determines the organisation."""
    return NotedOrganization(id=body.external_id, **body.model_dump())


def plugin_of(file: pb.AttachedFile) -> str:
    """Return the plugin that LAMB has named for a file."""
    name = from_struct(file.attributes).get(PLUGIN)
    return name if isinstance(name, str) else _DEFAULT


def parameters_of(file: pb.AttachedFile) -> dict[str, Any]:
    """Return the parameters that LAMB has sent for a file, without long ones."""
    text = from_struct(file.attributes).get(PARAMETERS)
    with suppress(InvalidRequestError):  # others can write attributes too
        return parse(text.encode())[0] if isinstance(text, str) else {}
    return {}


def file_address(file: pb.AttachedFile) -> str:
    """Return where people can read a file: on the web if it was fetched there."""
    return file.uri if is_fetched(file) else content_path(file.collection_id, file.file_id)


def shown_name(file: pb.AttachedFile) -> str:
    """Return what LAMB shows as the name of a file."""
    return file.uri if is_fetched(file) else file.filename


def is_fetched(file: pb.AttachedFile) -> bool:
    """Return whether the content of a file is only an address."""
    return file.source in {pb.FILE_SOURCE_WEB, pb.FILE_SOURCE_TRANSCRIPT}


def _view(file: pb.AttachedFile) -> CollectionFile:
    state = status(file)
    return CollectionFile(
        id=file.file_id,
        collection_id=file.collection_id,
        original_filename=shown_name(file),
        file_url=file_address(file),
        file_size=file.size,
        plugin_name=plugin_of(file),
        status=_STATUSES.get(state, state),
        error_message=file.error or None,
        created_at=file.create_time.seconds,
    )
