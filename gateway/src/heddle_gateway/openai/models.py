"""`/v1/models`: assistants as OpenAI's models."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal

import msgspec
import structlog
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle.connector.v1.connector_pb2 import ListConnectorsRequest
from heddle_runtime.contract.limits import MAX_PAGE_SIZE
from heddle_runtime.contract.paging import write_token
from heddle_runtime.errors import HeddleError, NotFoundError
from heddle_runtime.identity.call_metadata import caller
from heddle_runtime.identity.callers import DEFAULT_ORGANIZATION
from heddle_runtime.identity.permissions import has
from pydantic import Field
from starlette.responses import Response

from heddle_gateway.http.error_responses import RejectedRequestError, from_error, invalid
from heddle_gateway.http.models import Model
from heddle_gateway.routing import Call, Routes
from heddle_gateway.services import LIST_SECONDS, call, items
from heddle_gateway.state import State
from heddle_gateway.transcoding.messages import writer
from heddle_gateway.transcoding.schemas import described_as

MAX_MODELS = 100_000
"""Of a list that names no limit."""
log = structlog.get_logger(__name__)


async def offered(
    state: State, assistants: Sequence[pb.AssistantSummary]
) -> list[pb.AssistantSummary]:
    """Return the assistants that are neither for debugging nor without a provider that is set up.

    In front of another system, which has providers of its own, these are all, as they are if the
    connectors are not known now.
    """
    if state.other_system is not None:
        return list(assistants)
    try:
        connectors = await _connectors(state, {each.organization for each in assistants})
    except HeddleError as error:  # clients that see no assistants remove them from their own lists
        log.warning("connectors not known", reason=error.reason)
        return list(assistants)
    return [each for each in assistants if each.connector in connectors[each.organization]]


async def offer_only(
    state: State, request: pb.ListAssistantsRequest, response: pb.ListAssistantsResponse
) -> pb.ListAssistantsResponse:
    """Return a page of assistants: of published ones, and for members of any, what is offered."""
    if request.selection > pb.SELECTION_USABLE and has(caller().identity, "manage_assistants"):
        return response
    return pb.ListAssistantsResponse(
        assistants=await offered(state, response.assistants),
        next_page_token=response.next_page_token,
    )


async def _connectors(state: State, organizations: Iterable[str]) -> Mapping[str, set[str]]:
    """Return by organisation the connectors whose models answer people."""
    names = list(organizations)
    known = state.offered_connectors
    loads = (known.get(each, partial(_load, state, each)) for each in names)
    return dict(zip(names, await asyncio.gather(*loads), strict=True))


async def _load(state: State, organization: str) -> set[str]:
    request = ListConnectorsRequest(organization=organization or DEFAULT_ORGANIZATION)
    with state.credentials.as_service():
        method = state.services.connectors.ListConnectors
        connectors = await items(method, request, "connectors", LIST_SECONDS)
    return {each.name for each in connectors if each.usable and not each.debugging}


PREFIX = "lamb_assistant."
_capabilities = writer(pb.Capabilities.DESCRIPTOR)
routes = Routes("completions")


class ModelView(Model):
    """An assistant as a model."""

    id: str = Field(pattern=r"^lamb_assistant\.")
    object: Literal["model"] = "model"
    created: int
    owned_by: str = "lamb_v4"
    name: str
    description: str
    parent: None = None
    capabilities: Annotated[dict[str, Any], described_as(pb.Capabilities.DESCRIPTOR)]
    info: dict[str, Any] = Field(description="Members that Open WebUI reads.")


class ModelList(Model):
    """The assistants."""

    object: Literal["list"] = "list"
    data: list[ModelView]
    has_more: bool = Field(description="Whether more models follow.")


class ModelQuery(Model):
    """The query of a list."""

    limit: int = Field(
        default=0, ge=0, le=1000, description="The maximum number of models. 0: 100,000."
    )
    after: str = Field(
        default="", description="The identifier of the model before the page.", examples=[""]
    )


ModelId = Annotated[
    str,
    Field(description="The model's name in the list.", min_length=1, examples=["lamb_assistant.1"]),
]


@routes.get("/v1/models", "/models", returns=ModelList, errors=(400,))
async def list_models(api: Call, query: ModelQuery) -> Response:
    """List the published assistants that the key may use, as models.

    Assistants for debugging, and those whose provider is not set up, are not in the list. In front
    of another system, which has providers of its own, they are, and the newest are first.
    """
    selected, has_more = await _page(api.state, query)
    # Each by itself: objects of all at once would cost the collector of garbage as much again.
    models = b",".join([msgspec.json.encode(_view(each)) for each in selected])
    more = msgspec.json.encode(has_more)
    body = b'{"object":"list","data":[%b],"has_more":%b}' % (models, more)
    return Response(body, media_type="application/json")


async def _page(state: State, query: ModelQuery) -> tuple[list[pb.AssistantSummary], bool]:
    """Return the models of a page, and whether more follow.

    Raises:
        InvalidRequestError: The query names a model that is not in the list.
    """
    most, last = query.limit or MAX_MODELS, query.after.removeprefix(PREFIX)
    method = state.services.assistants.ListAssistants
    request, shown = pb.ListAssistantsRequest(), list[pb.AssistantSummary]()
    if state.other_system is not None:
        every = await items(method, request, "assistants", LIST_SECONDS)
        shown = (await offered(state, every))[::-1]
        first = 1 + next((at for at, it in enumerate(shown) if it.id == last), -1)
        if last and not first:
            raise invalid("after", "is not in the list", "The query parameter")
        return shown[first : first + most], first + most < len(shown)
    if last:
        named = pb.GetAssistantRequest(reference=f"{PREFIX}{last}")
        try:
            await call(state.services.assistants.GetAssistant, named, LIST_SECONDS)
        except NotFoundError:
            raise invalid("after", "is not in the list", "The query parameter") from None
        request.page_token = write_token(last)
    request.page_size = min(most + 1, MAX_PAGE_SIZE)
    while True:
        response = await call(method, request, LIST_SECONDS)
        shown += await offered(state, response.assistants)
        request.page_token = response.next_page_token
        if len(shown) > most or not request.page_token:
            return shown[:most], len(shown) > most


@routes.get("/v1/models/{id:path}", "/models/{id:path}", errors=(404, 422))
async def get_model(api: Call, id_: ModelId) -> ModelView:
    """Get one assistant as a model."""
    request = pb.GetAssistantRequest(reference=id_)
    try:
        response = await call(api.services.assistants.GetAssistant, request, LIST_SECONDS)
    except HeddleError as error:
        raise RejectedRequestError(from_error(error, model=True)) from error
    return ModelView.model_validate(_view(response.assistant))


def _view(assistant: pb.AssistantSummary | pb.Assistant) -> dict[str, Any]:
    """Return an assistant as OpenAI's model, with the members that Open WebUI reads."""
    capabilities, description = assistant.capabilities, assistant.description
    return {
        "id": f"{PREFIX}{assistant.id}",
        "object": "model",
        "created": assistant.create_time.seconds,
        "owned_by": "lamb_v4",
        "name": assistant.title or assistant.name or assistant.id,
        "description": description,
        "parent": None,
        "capabilities": _capabilities(capabilities),
        "info": {
            "meta": {
                "description": description,
                "capabilities": {
                    # Otherwise Open WebUI sends some 36 tools of its own with each request.
                    "builtin_tools": False,
                    "usage": True,
                    "citations": True,
                    "vision": capabilities.vision,
                },
            }
        },
    }
