"""`/v1/models`: assistants as OpenAI's models."""

from typing import Annotated, Any, Literal

from heddle.assistant.v1.assistant_pb2 import (
    Assistant,
    AssistantSummary,
    Capabilities,
    GetAssistantRequest,
    ListAssistantsRequest,
)
from heddle_runtime.errors import HeddleError
from pydantic import Field

from heddle_gateway.http.error_responses import RejectedRequestError, from_error
from heddle_gateway.http.models import Model
from heddle_gateway.openai.offered import offered
from heddle_gateway.routing import Call, Routes
from heddle_gateway.services import LIST_SECONDS, call, items
from heddle_gateway.transcoding.messages import writer
from heddle_gateway.transcoding.schemas import described_as

PREFIX = "lamb_assistant."
routes = Routes("completions")


class ModelView(Model):
    """An assistant as a model."""

    id: str = Field(pattern=r"^lamb_assistant\.")
    object: Literal["model"] = "model"
    created: int
    owned_by: str = "lamb_v4"
    name: str
    parent: None = None
    capabilities: Annotated[dict[str, Any], described_as(Capabilities.DESCRIPTOR)]
    info: dict[str, Any] = Field(description="Members that Open WebUI reads.")


class ModelList(Model):
    """The assistants."""

    object: Literal["list"] = "list"
    data: list[ModelView]


ModelId = Annotated[
    str,
    Field(description="The model's name in the list.", min_length=1, examples=["lamb_assistant.1"]),
]


@routes.get("/v1/models", "/models")
async def list_models(api: Call) -> ModelList:
    """List the published assistants that the key may use, as models.

    Assistants for debugging, and those whose provider is not set up, are not in the list. In front
    of another system, which has providers of its own, they are, and the newest are first.
    """
    method = api.services.assistants.ListAssistants
    assistants = await items(method, ListAssistantsRequest(), "assistants", LIST_SECONDS)
    shown = await offered(api.state, assistants)
    if api.state.other_system is not None:
        shown.reverse()
    return ModelList(data=[_view(each) for each in shown])


@routes.get("/v1/models/{id:path}", "/models/{id:path}", errors=(404, 422))
async def get_model(api: Call, id_: ModelId) -> ModelView:
    """Get one assistant as a model."""
    request = GetAssistantRequest(reference=id_)
    try:
        response = await call(api.services.assistants.GetAssistant, request, LIST_SECONDS)
    except HeddleError as error:
        raise RejectedRequestError(from_error(error, model=True)) from error
    return _view(response.assistant)


def _view(assistant: AssistantSummary | Assistant) -> ModelView:
    """Return an assistant as OpenAI's model, with the members that Open WebUI reads."""
    capabilities = assistant.capabilities
    return ModelView(
        id=f"{PREFIX}{assistant.id}",
        created=assistant.create_time.seconds,
        name=assistant.title or assistant.name or assistant.id,
        capabilities=writer(Capabilities.DESCRIPTOR)(capabilities),
        info={
            "meta": {
                "description": assistant.description,
                "capabilities": {
                    # Otherwise Open WebUI sends some 36 tools of its own with each request.
                    "builtin_tools": False,
                    "usage": True,
                    "citations": True,
                    "vision": capabilities.vision,
                },
            }
        },
    )
