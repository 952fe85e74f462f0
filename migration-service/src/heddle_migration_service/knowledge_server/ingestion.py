"""LAMB's ways to ingest: each source becomes an attached file, which is a job."""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Literal

from heddle.knowledge.v1 import files_pb2 as pb
from heddle_gateway.http.body import EmptyableFile, UploadedFile
from heddle_gateway.http.error_responses import invalid
from heddle_gateway.http.json_text import parse
from heddle_gateway.http.models import Model
from heddle_gateway.openai.files import store
from heddle_gateway.routing import Call, Routes
from heddle_gateway.services import call
from heddle_runtime.contract.struct_codec import to_struct
from heddle_runtime.errors import HeddleError, InvalidRequestError
from heddle_runtime.http.egress import document_address_problem
from pydantic import Field

from heddle_migration_service.knowledge_server.ingestion_parameters import (
    PATH,
    Source,
    read_parameters,
)
from heddle_migration_service.knowledge_server.ingestion_plugins import DEFAULT, PLUGINS, PluginName
from heddle_migration_service.knowledge_server.knowledge_base_files import (
    PLUGIN,
    detach,
    file_address,
    shown_name,
)
from heddle_migration_service.knowledge_server.knowledge_bases import (
    TAG,
    delete_unattached,
)
from heddle_migration_service.knowledge_server.numbers import (
    CollectionId,
    get_collection,
    number_in_lamb,
    number_of,
)
from heddle_migration_service.knowledge_server.results import PARAMETERS, content_path

_MAX_NOTE = 512
_MAX_VALUE = 200
routes = Routes(TAG)


class IngestForm(Model):
    """A file to add."""

    file: EmptyableFile = Field(
        description="May be empty for plugins that do not read a file, as LAMB sends it."
    )
    plugin_name: PluginName = DEFAULT
    plugin_params: str = Field(
        default="", description="Parameters of `/ingestion/plugins`, as a JSON object."
    )


class IngestUrls(Model):
    """Documents of the web to add."""

    urls: list[str] = Field(description="1 to 100 addresses.")
    plugin_name: Literal["url_ingest"] = "url_ingest"
    plugin_params: dict[str, Any] = Field(default={})


class IngestBase(Model):
    """What to add with a plugin that reads no file."""

    plugin_name: PluginName
    plugin_params: dict[str, Any] = Field(default={})


class Ingestion(Model):
    """The sources are being added."""

    collection_id: int
    collection_name: str
    documents_added: int = 0
    success: Literal[True] = True
    file_path: str = ""
    file_url: str = ""
    original_filename: str
    plugin_name: str
    file_registry_id: int = Field(description="The number of the first job.")
    file_registry_ids: list[int] = Field(
        description="An extension of LAMB's form: the numbers of all jobs, one for each source."
    )
    status: Literal["processing"] = "processing"


@routes.post("/collections/{id}/ingest-file", errors=(403, 404))
async def ingest_file(api: Call, id_: CollectionId, form: IngestForm) -> Ingestion:
    """Add a file to a collection, in the background."""
    values = _members(form.plugin_params)
    return await _ingest(api, id_, form.plugin_name, values, form.file)


@routes.post("/collections/{id}/ingest-url", errors=(403, 404))
async def ingest_urls(api: Call, id_: CollectionId, body: IngestUrls) -> Ingestion:
    """Add documents of the web to a collection, in the background.

    The knowledge service fetches them. It connects to public addresses only, and to the networks
    that the operator allows. Each address is a job, whose error says what went wrong.
    """
    values = {**body.plugin_params, "urls": body.urls}
    return await _ingest(api, id_, body.plugin_name, values)


@routes.post("/collections/{id}/ingest-base", errors=(403, 404))
async def ingest_base(api: Call, id_: CollectionId, body: IngestBase) -> Ingestion:
    """Add to a collection what a plugin reads that needs no file, in the background."""
    if PLUGINS[body.plugin_name].kind == "file-ingest":
        raise invalid("plugin_name", "must be a plugin that needs no file")
    return await _ingest(api, id_, body.plugin_name, body.plugin_params)


async def _ingest(
    api: Call,
    reference: str,
    plugin: str,
    values: Mapping[str, Any],
    upload: UploadedFile | None = None,
) -> Ingestion:
    parameters = read_parameters(PLUGINS[plugin].parameters, values)
    sources = [*parameters.sources(upload)]
    attributes = {**_noted(plugin, values), **parameters.notes()}
    common = parameters.splitting()
    collection = await get_collection(api.services, reference)
    common.collection = collection.id
    common.attributes.MergeFrom(to_struct(attributes))
    attached: list[pb.AttachedFile] = []
    try:
        for source in sources:
            file = await _attach(api, source, common, number_in_lamb(collection))
            attached.append(file)
    except HeddleError:
        await _detach(api, attached)
        raise
    return Ingestion(
        collection_id=number_in_lamb(collection),
        collection_name=collection.title or collection.name,
        original_filename=shown_name(attached[0]),
        file_url=file_address(collection, attached[0]),
        plugin_name=plugin,
        file_registry_id=number_of(attached[0].file_id),
        file_registry_ids=[number_of(each.file_id) for each in attached],
    )


async def _attach(
    api: Call, source: Source, common: pb.AttachFileRequest, number: int
) -> pb.AttachedFile:
    content, request = source
    file = await store(api.state, content, "assistants")
    request.MergeFrom(common)
    request.file_id = file.id
    if not request.uri:
        request.uri = _link(api, number, file.id)
        request.attributes["filename"] = content.filename
    try:
        return (await call(api.services.files.AttachFile, request)).file
    except HeddleError:
        await delete_unattached(api.services, file.id)
        raise


def _link(api: Call, number: int, file: str) -> str:
    """Return where people open an uploaded file; empty if that is not known."""
    link = api.state.settings.public_url.rstrip("/") + content_path(str(number), file)
    return "" if document_address_problem(link) else link


async def _detach(api: Call, files: list[pb.AttachedFile]) -> None:
    """Take out the sources of a request that fails later: a repetition adds all of them."""
    for file in files:
        with suppress(HeddleError):
            await detach(api.services, file)


def _members(text: str) -> dict[str, Any]:
    """Return the members of the JSON object in a field of a form.

    Raises:
        InvalidRequestError: It is none.
    """
    try:
        members, _ = parse((text or "{}").encode())
    except InvalidRequestError:
        raise invalid(PATH, "must be a JSON object", "The field") from None
    return members


def _noted(plugin: str, values: Mapping[str, Any]) -> dict[str, str]:
    """Return attributes with the plugin and its parameters, as jobs show them."""
    if plugin == DEFAULT and not values:
        return {}
    short = {name: value for name, value in values.items() if _is_short(value)}
    text = json.dumps(short, ensure_ascii=False)
    return {PLUGIN: plugin, PARAMETERS: text if len(text) <= _MAX_NOTE else "{}"}


def _is_short(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= _MAX_VALUE
    return isinstance(value, bool | int | float)
