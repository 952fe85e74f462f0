"""`/collections/{id}/files`: files in the form of LAMB's own knowledge-base server."""

from typing import Any, Literal

from heddle.knowledge.v1 import files_pb2 as pb
from heddle_runtime.errors import HeddleError
from heddle_runtime.struct_codec import from_struct, to_struct
from pydantic import Field
from starlette.responses import Response

from heddle_gateway.http.models import Deleted, Model, Name
from heddle_gateway.http.multipart import FormFile
from heddle_gateway.lamb.knowledge_bases import (
    QUERY_PLUGINS,
    TAG,
    CollectionId,
    content_path,
    delete_unattached,
)
from heddle_gateway.openai.files import download, store
from heddle_gateway.openai.vector_store_files import AttachedFileId
from heddle_gateway.openai.vector_stores import attached_files, get_collection, status
from heddle_gateway.routing import Call, Routes
from heddle_gateway.services import call

PLUGINS = {
    "simple_ingest": "Reads a file by its type: Markdown, HTML, text, PDF.",
    "markitdown_ingest": "Reads a file as simple_ingest does.",
    "markitdown_plus_ingest": "Reads a file as simple_ingest does.",
    "hierarchical_ingest": "Reads a file as simple_ingest does: parent_child_query needs no other.",
}
Plugin = Literal[
    "simple_ingest", "markitdown_ingest", "markitdown_plus_ingest", "hierarchical_ingest"
]
PLUGIN = "lamb_plugin"
"""The attribute of an attached file with the plugin that LAMB has named."""
_DEFAULT: Plugin = "simple_ingest"
_STATUSES = {"in_progress": "processing"}
routes = Routes(TAG)


class IngestForm(Model):
    """A file to add. `plugin_params` are ignored: a collection splits all files alike."""

    file: FormFile
    plugin_name: Plugin = _DEFAULT
    plugin_params: Any = None


class IngestedFile(Model):
    """The file is being added."""

    collection_id: str
    collection_name: str
    documents_added: int = 0
    success: Literal[True] = True
    file_path: str = ""
    file_url: str = ""
    original_filename: str
    plugin_name: str
    file_registry_id: str
    status: Literal["processing"] = "processing"


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


class PluginInfo(Model):
    """A plugin."""

    name: str
    description: str
    parameters: dict[str, Any] = Field(default={})


class IngestionPlugin(PluginInfo):
    """A plugin that reads files."""

    kind: Literal["file-ingest"] = "file-ingest"


@routes.post("/collections/{id}/ingest-file", errors=(404,))
async def ingest(api: Call, id_: CollectionId, form: IngestForm) -> IngestedFile:
    """Add a file to a collection, in the background."""
    collection = await get_collection(api.services, id_)
    file = await store(api.state, form.file, "assistants")
    attributes = {PLUGIN: form.plugin_name} if form.plugin_name != _DEFAULT else {}
    request = pb.AttachFileRequest(
        collection=collection.id, file_id=file.id, attributes=to_struct(attributes)
    )
    try:
        await call(api.services.files.AttachFile, request)
    except HeddleError:
        await delete_unattached(api.services, file.id)
        raise
    return IngestedFile(
        collection_id=collection.id,
        collection_name=collection.title or collection.name,
        original_filename=file.filename,
        file_url=content_path(collection.id, file.id),
        plugin_name=form.plugin_name,
        file_registry_id=file.id,
    )


@routes.get("/collections/{id}/files", errors=(400, 404))
async def list_collection_files(api: Call, id_: CollectionId) -> list[CollectionFile]:
    """List the files of a collection and their status."""
    collection = await get_collection(api.services, id_)
    files = await attached_files(api.services, collection.id)
    return [_view(each) for each in files]


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


@routes.get("/query/plugins")
async def query_plugins(_: Call) -> list[PluginInfo]:
    """List the search plugins."""
    descriptions = ("Finds passages.", "Finds passages, with the section around each.")
    plugins = zip(QUERY_PLUGINS, descriptions, strict=True)
    return [PluginInfo(name=name, description=text) for name, text in plugins]


@routes.get("/ingestion/plugins")
async def ingestion_plugins(_: Call) -> list[IngestionPlugin]:
    """List the plugins that read files."""
    return [IngestionPlugin(name=name, description=text) for name, text in PLUGINS.items()]


def plugin_of(file: pb.AttachedFile) -> str:
    """Return the plugin that LAMB has named for a file."""
    name = from_struct(file.attributes).get(PLUGIN)
    return name if isinstance(name, str) else _DEFAULT


def _view(file: pb.AttachedFile) -> CollectionFile:
    state = status(file)
    return CollectionFile(
        id=file.file_id,
        collection_id=file.collection_id,
        original_filename=file.filename,
        file_url=content_path(file.collection_id, file.file_id),
        file_size=file.size,
        plugin_name=plugin_of(file),
        status=_STATUSES.get(state, state),
        error_message=file.error or None,
        created_at=file.create_time.seconds,
    )
