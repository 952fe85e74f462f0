"""`/collections/{id}/files`: files in the form of LAMB's own knowledge-base server."""

from contextlib import suppress
from typing import Any, Literal

from heddle.knowledge.v1 import files_pb2 as pb
from heddle.knowledge.v1 import knowledge_pb2
from heddle_gateway.http.json_text import parse
from heddle_gateway.http.models import Model, Name
from heddle_gateway.openai.files import download
from heddle_gateway.openai.vector_stores import attached_files, collections, status
from heddle_gateway.routing import Call, Routes
from heddle_gateway.services import ServiceClients, call, items
from heddle_runtime.contract.struct_codec import from_struct
from heddle_runtime.errors import InvalidRequestError, NotFoundError, PermissionDeniedError
from pydantic import Field
from starlette.responses import Response

from heddle_migration_service.knowledge_server.knowledge_bases import (
    TAG,
    delete_unattached,
)
from heddle_migration_service.knowledge_server.numbers import (
    CollectionId,
    FileNumber,
    get_collection,
    get_file,
    number_in_lamb,
    number_of,
)
from heddle_migration_service.knowledge_server.results import PARAMETERS, content_path

PLUGIN = "lamb_plugin"
"""The attribute of an attached file with the plugin that LAMB has named."""
_DEFAULT = "simple_ingest"
_STATUSES = {"in_progress": "processing"}
routes = Routes(TAG)


class CollectionFile(Model):
    """A file of a collection."""

    id: int
    collection_id: int
    original_filename: str
    file_url: str = ""
    file_size: int
    content_type: str | None
    plugin_name: str
    status: str
    document_count: int = Field(description="The number of passages; 0 until it is completed.")
    error_message: str | None
    created_at: int


class FileQuery(Model):
    """Which files to list."""

    status: Literal["processing", "completed", "failed", "cancelled", "deleted"] | None = Field(
        default=None, description="Only files with this status. No file of a list is deleted."
    )


class NewStatus(Model):
    """The status that LAMB wants."""

    status: Literal["completed", "processing", "failed", "deleted"] = Field(
        description="`deleted` deletes the file."
    )


class DeletedCollectionFile(Model):
    """The file is deleted."""

    id: int
    collection_id: int
    deleted: Literal[True] = True


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
    documents = knowledge_pb2.ListDocumentsRequest(collection=collection.id)
    listed = await items(api.services.knowledge.ListDocuments, documents, "documents")
    counts = {each.name: each.passage_count for each in listed}
    views = [_view(collection, each, counts.get(each.document, 0)) for each in files]
    return [each for each in views if query.status in (None, each.status)]


@routes.get(
    "/collections/{id}/files/{file}/content",
    content=("application/octet-stream",),
    errors=(400, 404),
)
async def content(api: Call, id_: CollectionId, file: FileNumber) -> Response:
    """Get the content of a file of a collection, the address in `file_url`."""
    collection = await get_collection(api.services, id_)
    attached = await get_file(api.services, collection.id, file)
    request = pb.GetFileContentRequest(collection=attached.collection_id, id=attached.file_id)
    response = await call(api.services.files.GetFileContent, request)
    return download(response.data)


@routes.delete("/collections/{id}/files/{file}", errors=(400, 404))
async def delete(api: Call, id_: CollectionId, file: FileNumber) -> DeletedCollectionFile:
    """Delete a file of a collection."""
    collection = await get_collection(api.services, id_)
    attached = await get_file(api.services, collection.id, file)
    await detach(api.services, attached)
    number = number_of(attached.file_id)
    return DeletedCollectionFile(id=number, collection_id=number_in_lamb(collection))


@routes.put("/collections/files/{file}/status", errors=(400, 403, 404))
async def change_status(api: Call, file: FileNumber, query: NewStatus) -> CollectionFile:
    """Delete a file with the status `deleted`. Heddle alone sets all others."""
    for collection in await collections(api.services):
        with suppress(NotFoundError):
            attached = await get_file(api.services, collection.id, file)
            break
    else:
        raise NotFoundError(f"There is no file {file}.")
    view = _view(collection, attached, 0)
    if query.status == view.status:
        return view
    if query.status != "deleted":
        raise InvalidRequestError(f"The file is {view.status}. The status can become 'deleted'.")
    if not collection.changeable:
        raise PermissionDeniedError("The collection is shared for reading.")
    await detach(api.services, attached)
    return view.model_copy(update={"status": "deleted"})


@routes.post("/organizations")
async def organization(_: Call, body: Organization) -> NotedOrganization:
    """Accept an organisation of LAMB. Nothing is stored: the key determines the organisation."""
    return NotedOrganization(id=body.external_id, **body.model_dump())


async def detach(services: ServiceClients, file: pb.AttachedFile) -> None:
    """Take a file out of its collection, and delete it if it is in no other one.

    Raises:
        HeddleError: That fails.
    """
    request = pb.DetachFileRequest(collection=file.collection_id, file_id=file.file_id)
    await call(services.files.DetachFile, request)
    await delete_unattached(services, file.file_id)


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


def file_address(collection: knowledge_pb2.Collection, file: pb.AttachedFile) -> str:
    """Return where people can read a file: on the web if it was fetched there."""
    if is_fetched(file):
        return file.uri
    return content_path(str(number_in_lamb(collection)), file.file_id)


def shown_name(file: pb.AttachedFile) -> str:
    """Return what LAMB shows as the name of a file."""
    return file.uri if is_fetched(file) else file.filename


def is_fetched(file: pb.AttachedFile) -> bool:
    """Return whether the content of a file is only an address."""
    return file.source in {pb.FILE_SOURCE_WEB, pb.FILE_SOURCE_TRANSCRIPT}


def _view(
    collection: knowledge_pb2.Collection, file: pb.AttachedFile, passages: int
) -> CollectionFile:
    state = status(file)
    return CollectionFile(
        id=number_of(file.file_id),
        collection_id=number_in_lamb(collection),
        original_filename=shown_name(file),
        file_url=file_address(collection, file),
        file_size=file.size,
        plugin_name=plugin_of(file),
        content_type=file.media_type or None,
        status=_STATUSES.get(state, state),
        document_count=passages,
        error_message=file.error or None,
        created_at=file.create_time.seconds,
    )
