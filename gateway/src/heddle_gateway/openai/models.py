"""Assistants as OpenAI's models."""

from typing import TYPE_CHECKING, Any

from heddle.assistant.v1.assistant_pb2 import (
    Assistant,
    AssistantSummary,
    GetAssistantRequest,
    ListAssistantsRequest,
)
from heddle_runtime.errors import HeddleError

from heddle_gateway.http import error_responses
from heddle_gateway.http.error_responses import ErrorResponse
from heddle_gateway.http.raw import RawRequest, RawResponse
from heddle_gateway.services import ask, every

if TYPE_CHECKING:
    from heddle_gateway.state import State

PREFIX = "lamb_assistant."
# Open WebUI gives a model list ten seconds.
LIST_TIMEOUT = 8.0


async def models(state: "State", _: RawRequest) -> RawResponse:
    """Answer `GET /v1/models`."""
    request = ListAssistantsRequest(page_size=1000)
    data = [
        entry(assistant)
        async for page in every(state.services.assistants.ListAssistants, request, LIST_TIMEOUT)
        for assistant in page.assistants
    ]
    return RawResponse.json({"object": "list", "data": data})


async def model(state: "State", exchange: RawRequest) -> RawResponse | ErrorResponse:
    """Answer `GET /v1/models/{id}`."""
    request = GetAssistantRequest(reference=exchange.parameter)
    try:
        found = await ask(state.services.assistants.GetAssistant, request, LIST_TIMEOUT)
    except HeddleError as error:
        return error_responses.of(error, model=True)
    return RawResponse.json(entry(found.assistant))


def entry(assistant: AssistantSummary | Assistant) -> dict[str, Any]:
    """Return an assistant as OpenAI's model, with what Open WebUI reads beside it."""
    can = assistant.capabilities
    return {
        "id": f"{PREFIX}{assistant.id}",
        "object": "model",
        "created": assistant.create_time.seconds,
        "owned_by": "lamb_v4",
        "name": assistant.title or assistant.name or assistant.id,
        "parent": None,
        "capabilities": {"vision": can.vision, "image_generation": can.image_generation},
        "info": {
            "meta": {
                "description": assistant.description,
                "capabilities": {
                    # Without this Open WebUI sends some 36 tools of its own with each request.
                    "builtin_tools": False,
                    "usage": True,
                    "citations": True,
                    "vision": can.vision,
                },
            }
        },
    }
