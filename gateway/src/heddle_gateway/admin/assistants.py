"""`/assistants`: assistants in their written form, for frontends and programs."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from heddle.assistant.v1 import assistant_pb2 as pb

from heddle_gateway.admin.assistant_json import assistant, capabilities, document
from heddle_gateway.http import etags, query_parameters, validation
from heddle_gateway.http.body import read_object
from heddle_gateway.http.headers import JSON, Headers
from heddle_gateway.http.raw import RawRequest, RawResponse
from heddle_gateway.openai.models import PREFIX
from heddle_gateway.services import ask

if TYPE_CHECKING:
    from heddle_gateway.state import State

TIMEOUT = 15.0
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
LARGEST_PAGE = 1000
SELECTIONS: Mapping[str, pb.Selection.ValueType] = {
    "usable": pb.SELECTION_USABLE,
    "own": pb.SELECTION_OWN,
    "managed": pb.SELECTION_MANAGED,
}


async def listing(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `GET /assistants`."""
    selection = query_parameters.choice(exchange, "selection", SELECTIONS)
    request = pb.ListAssistantsRequest(
        page_size=query_parameters.whole(exchange, "page_size", 0, low=1, high=LARGEST_PAGE),
        page_token=query_parameters.text(exchange, "page_token"),
        selection=SELECTIONS.get(selection, pb.SELECTION_UNSPECIFIED),
        text=query_parameters.text(exchange, "text"),
    )
    page = await ask(state.services.assistants.ListAssistants, request, TIMEOUT)
    found = [_summary(each) for each in page.assistants]
    return RawResponse.json({"assistants": found, "next_page_token": page.next_page_token})


async def get(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `GET /assistants/{id}`."""
    request = pb.GetAssistantRequest(reference=f"{PREFIX}{exchange.parameter}")
    found = await ask(state.services.assistants.GetAssistant, request, TIMEOUT)
    told = document(found.assistant, published=found.published)
    return RawResponse.json(told, headers=etags.header(found.etag))


async def create(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `POST /assistants`."""
    given, place = await read_object(state, exchange)
    published = given.get("published")
    request = pb.CreateAssistantRequest(
        assistant=assistant(given, place),
        published=published is not None and validation.flag(published, place, "published"),
    )
    made = await ask(state.services.assistants.CreateAssistant, request, TIMEOUT)
    told = document(made.assistant, published=request.published)
    return _made(told, made)


async def update(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `PUT /assistants/{id}`: the body is the whole assistant."""
    given, place = await read_object(state, exchange)
    changed = assistant(given, place)
    if changed.id and changed.id != exchange.parameter:
        raise place.at("id").wrong("is not the assistant that the address names")
    changed.id = exchange.parameter
    request = pb.UpdateAssistantRequest(assistant=changed, etag=etags.expected(exchange))
    kept = await ask(state.services.assistants.UpdateAssistant, request, TIMEOUT)
    told = document(kept.assistant, published=kept.published)
    return RawResponse.json(told, headers=etags.header(kept.etag))


async def delete(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `DELETE /assistants/{id}`."""
    request = pb.DeleteAssistantRequest(id=exchange.parameter, etag=etags.expected(exchange))
    await ask(state.services.assistants.DeleteAssistant, request, TIMEOUT)
    return RawResponse.json({"id": exchange.parameter, "deleted": True})


async def publish(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `PUT /assistants/{id}/publish`."""
    given, place = await read_object(state, exchange)
    published = validation.flag(given.get("published"), place, "published")
    request = pb.PublishAssistantRequest(id=exchange.parameter, published=published)
    kept = await ask(state.services.assistants.PublishAssistant, request, TIMEOUT)
    told = {"id": exchange.parameter, "published": published}
    return RawResponse.json(told, headers=etags.header(kept.etag))


async def export(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `GET /assistants/{id}/export`."""
    request = pb.ExportAssistantRequest(id=exchange.parameter)
    found = await ask(state.services.assistants.ExportAssistant, request, TIMEOUT)
    headers = (*JSON, *attachment(exchange.parameter))
    return RawResponse(200, found.document_json.encode(), headers)


async def bring(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `POST /assistants/import`: the body is what an export returned."""
    _, place = await read_object(state, exchange)
    request = pb.ImportAssistantRequest(
        document_json=place.text(), name=query_parameters.text(exchange, "name")
    )
    made = await ask(state.services.assistants.ImportAssistant, request, TIMEOUT)
    return _made(document(made.assistant, published=made.published), made)


def attachment(identifier: str) -> Headers:
    """Return the header that makes a browser save the answer."""
    name = f"assistant_{_UNSAFE.sub('_', identifier)}.json"
    return ((b"content-disposition", f'attachment; filename="{name}"'.encode()),)


def _made(
    told: object, made: pb.CreateAssistantResponse | pb.ImportAssistantResponse
) -> RawResponse:
    """Return the answer about a new assistant, which tells where it is."""
    location = (b"location", f"/assistants/{made.assistant.id}".encode())
    return RawResponse.json(told, 201, (*etags.header(made.etag), location))


def _summary(found: pb.AssistantSummary) -> dict[str, Any]:
    return {
        "id": found.id,
        "name": found.name,
        "title": found.title,
        "description": found.description,
        "capabilities": capabilities(found.capabilities),
        "created": found.create_time.seconds,
        "owner": found.owner,
        "organization": found.organization,
        "published": found.published,
        "format_version": found.format_version,
    }
