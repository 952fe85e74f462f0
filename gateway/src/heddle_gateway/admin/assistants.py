"""`/assistants`: assistants for frontends and programs."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from heddle.assistant.v1 import assistant_pb2 as pb
from pydantic import Field, RootModel
from starlette.responses import Response

from heddle_gateway.admin.assistant_json import assistant, capabilities, document
from heddle_gateway.admin.assistant_schema import AssistantBody, AssistantFile, StoredAssistant
from heddle_gateway.http import validation
from heddle_gateway.http.error_responses import invalid
from heddle_gateway.http.models import (
    Deleted,
    DocumentedAs,
    Model,
    PageSize,
    PageToken,
    Timestamp,
)
from heddle_gateway.openai.chat.completions import AssistantId
from heddle_gateway.openai.models import PREFIX, Capabilities
from heddle_gateway.routing import ETAG, LOCATION, Call, Routes
from heddle_gateway.services import call

TIMEOUT = 15.0
SAVE = {"Content-Disposition": "The name of the file."}
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
_SELECTIONS: Mapping[str, pb.Selection.ValueType] = {
    "usable": pb.SELECTION_USABLE,
    "own": pb.SELECTION_OWN,
    "managed": pb.SELECTION_MANAGED,
}
routes = Routes("assistants")


class AssistantJson(RootModel[Annotated[dict[str, Any], DocumentedAs(AssistantBody)]]):
    """An assistant."""


class AssistantFileJson(RootModel[Annotated[dict[str, Any], DocumentedAs(AssistantFile)]]):
    """An assistant as a file."""


class AssistantSummary(Model):
    """The description of an assistant."""

    id: str
    name: str
    title: str
    description: str
    capabilities: Capabilities
    created: Timestamp
    owner: str
    organization: str
    published: bool
    format_version: int = Field(
        description="The stored format: 1 is LAMB's, 2 that of `/assistants/{id}`, 0 unreadable."
    )


class AssistantPage(Model):
    """A page of assistants."""

    assistants: list[AssistantSummary]
    next_page_token: str = Field(description="Empty on the last page.")


class AssistantQuery(Model):
    """The query of the list of assistants."""

    page_size: PageSize
    page_token: PageToken
    selection: Literal["usable", "own", "managed"] | None = Field(
        default=None,
        description="The published assistants that the caller may use (the default), the caller's "
        "own, or all that the caller may change.",
    )
    text: str = Field(
        default="", description="Only assistants whose name or title contains it, in any case."
    )


class ImportQuery(Model):
    """The query of an import."""

    name: str = Field(
        default="",
        description="The name of the new assistant, by default the one in the file.",
        json_schema_extra={"pattern": "^([A-Za-z0-9][A-Za-z0-9_-]{0,127})?$"},
    )


class Publication(Model):
    """Whether an assistant is published."""

    published: bool


class PublishedAssistant(Publication):
    """Whether an assistant is published."""

    id: str


@routes.get("/assistants", errors=(400,))
async def list_assistants(api: Call, query: AssistantQuery) -> AssistantPage:
    """List assistants, ordered by identifier."""
    request = pb.ListAssistantsRequest(
        page_size=query.page_size,
        page_token=query.page_token,
        selection=_SELECTIONS.get(query.selection or "", pb.SELECTION_UNSPECIFIED),
        text=query.text,
    )
    page = await call(api.state.services.assistants.ListAssistants, request, TIMEOUT)
    summaries = [_summary(each) for each in page.assistants]
    return AssistantPage(assistants=summaries, next_page_token=page.next_page_token)


@routes.get("/assistants/{id}", errors=(400, 404, 422), headers=ETAG, returns=StoredAssistant)
async def get(api: Call, id_: AssistantId) -> dict[str, Any]:
    """Get an assistant. One in LAMB's format is migrated first."""
    request = pb.GetAssistantRequest(reference=f"{PREFIX}{id_}")
    response = await call(api.state.services.assistants.GetAssistant, request, TIMEOUT)
    api.set_etag(response.etag)
    return document(response.assistant, published=response.published)


@routes.post(
    "/assistants",
    status=201,
    errors=(404, 409),
    headers={**ETAG, **LOCATION},
    returns=StoredAssistant,
)
async def create(api: Call, body: AssistantJson) -> dict[str, Any]:
    """Create an assistant. `id` and `organization` are ignored."""
    new = assistant(body.root, api.json)
    value = body.root.get("published")
    published = value is not None and validation.flag(value, api.json, "published")
    request = pb.CreateAssistantRequest(assistant=new, published=published)
    response = await call(api.state.services.assistants.CreateAssistant, request, TIMEOUT)
    _set_created(api, response)
    return document(response.assistant, published=published)


@routes.post(
    "/assistants/import",
    status=201,
    errors=(409, 422),
    headers={**ETAG, **LOCATION},
    returns=StoredAssistant,
)
async def import_assistant(
    api: Call, query: ImportQuery, body: AssistantFileJson
) -> dict[str, Any]:
    """Create an assistant of the caller from an export of Heddle or of LAMB."""
    del body  # the service reads the exact text
    request = pb.ImportAssistantRequest(document_json=api.json.text(), name=query.name)
    response = await call(api.state.services.assistants.ImportAssistant, request, TIMEOUT)
    _set_created(api, response)
    return document(response.assistant, published=response.published)


@routes.put(
    "/assistants/{id}",
    errors=(404, 409, 422),
    headers=ETAG,
    if_match=True,
    returns=StoredAssistant,
)
async def update(api: Call, id_: AssistantId, body: AssistantJson) -> dict[str, Any]:
    """Replace an assistant. Members that the body lacks become empty.

    `owner`, `organization`, `created` and `published` may be sent back and are not changed.
    """
    changed = assistant(body.root, api.json)
    if changed.id and changed.id != id_:
        raise invalid("id", "is not the assistant of the path")
    changed.id = id_
    request = pb.UpdateAssistantRequest(assistant=changed, etag=api.expected_etag())
    response = await call(api.state.services.assistants.UpdateAssistant, request, TIMEOUT)
    api.set_etag(response.etag)
    return document(response.assistant, published=response.published)


@routes.delete("/assistants/{id}", errors=(400, 404, 409), if_match=True)
async def delete(api: Call, id_: AssistantId) -> Deleted:
    """Delete an assistant. Its name can be used again."""
    request = pb.DeleteAssistantRequest(id=id_, etag=api.expected_etag())
    await call(api.state.services.assistants.DeleteAssistant, request, TIMEOUT)
    return Deleted(id=id_)


@routes.put("/assistants/{id}/publish", errors=(404, 409), headers=ETAG)
async def publish(api: Call, id_: AssistantId, body: Publication) -> PublishedAssistant:
    """Set whether others of the organisation may use an assistant."""
    request = pb.PublishAssistantRequest(id=id_, published=body.published)
    response = await call(api.state.services.assistants.PublishAssistant, request, TIMEOUT)
    api.set_etag(response.etag)
    return PublishedAssistant(id=id_, published=body.published)


@routes.get("/assistants/{id}/export", errors=(400, 404, 422), headers=SAVE, returns=AssistantFile)
async def export(api: Call, id_: AssistantId) -> Response:
    """Get an assistant as a file that can be imported elsewhere."""
    request = pb.ExportAssistantRequest(id=id_)
    response = await call(api.state.services.assistants.ExportAssistant, request, TIMEOUT)
    api.save_as(filename(id_))
    return Response(response.document_json, media_type="application/json")


def filename(identifier: str) -> str:
    """Return the name of an assistant's file."""
    return f"assistant_{_UNSAFE.sub('_', identifier)}.json"


def _set_created(
    api: Call, response: pb.CreateAssistantResponse | pb.ImportAssistantResponse
) -> None:
    api.set_etag(response.etag)
    api.headers["location"] = f"/assistants/{response.assistant.id}"


def _summary(summary: pb.AssistantSummary) -> AssistantSummary:
    return AssistantSummary(
        id=summary.id,
        name=summary.name,
        title=summary.title,
        description=summary.description,
        capabilities=Capabilities(**capabilities(summary.capabilities)),
        created=summary.create_time.seconds,
        owner=summary.owner,
        organization=summary.organization,
        published=summary.published,
        format_version=summary.format_version,
    )
