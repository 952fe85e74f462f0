"""Chat completions at the paths of LAMB's clients."""

from heddle_gateway.http.models import AssistantId, Model, Name
from heddle_gateway.http.raw import RawRequest
from heddle_gateway.openai.chat.completions import OPTIONS, respond
from heddle_gateway.openai.chat.schema import ConversationBody
from heddle_gateway.openai.models import PREFIX
from heddle_gateway.routing import Routes
from heddle_gateway.state import State
from pydantic import Field

PATH = "/lamb/v1/completions"
CREATOR_PATH = "/creator/assistant/{id}/chat/completions"
routes = Routes("completions")


class AssistantQuery(Model):
    """The query of LAMB's completions."""

    assistant: Name = Field(description="The assistant's identifier or name.", examples=["1"])


@routes.post(PATH, query_model=AssistantQuery, body_model=ConversationBody, **OPTIONS)
async def chat(state: State, request: RawRequest) -> None:
    """Answer a conversation as the assistant that the query names."""
    await respond(state, request, request.query("assistant") or None)


@routes.post(CREATOR_PATH, path_models={"id": AssistantId}, body_model=ConversationBody, **OPTIONS)
async def creator_chat(state: State, request: RawRequest) -> None:
    """Try an assistant.

    With `debug_bypass` the response is the prompt that the model would receive, for those who may
    read the assistant.
    """
    assistant = f"{PREFIX}{request.scope['path_params']['id']}"
    await respond(state, request, assistant, debug=True)
