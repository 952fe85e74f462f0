"""Requests that name an assistant but are not completions of it.

Open WebUI asks for titles, tags and the like of a chat. The assistant's tools and templates would
make each of them as expensive as a completion, so a small model writes them. Editors ask for the
prompt that a model would receive.
"""

from heddle.assistant.v1.assistant_pb2 import Assistant, GetAssistantRequest, ModelRef, User
from heddle.orchestrator.v1.orchestrator_pb2 import RunCompletionRequest
from heddle_runtime.errors import PermissionDeniedError
from heddle_runtime.identity.call_metadata import CALLER, caller

from heddle_gateway.openai.chat.task_model import task_assistant
from heddle_gateway.services import call
from heddle_gateway.state import State

_BYPASS = ModelRef(connector="bypass", model="debug-bypass")


async def task_request(
    state: State, request: RunCompletionRequest, *, only_small: bool = False
) -> RunCompletionRequest:
    """Return the request to a small model, without tools. The caller may use the assistant.

    Raises:
        HeddleError: The assistant is not available.
        NotSetUpError: With `only_small`: there is no small model.
    """
    plain = await task_assistant(state, await _assistant(state, request), only_small=only_small)
    _take_over(state)
    return RunCompletionRequest(
        assistant=plain,
        messages=request.messages,
        options=request.options,
        charged_to=plain.id,
    )


async def prompt_request(state: State, request: RunCompletionRequest) -> RunCompletionRequest:
    """Return the request that is answered with the finished prompt.

    Raises:
        PermissionDeniedError: The caller may use the assistant but not read it.
        HeddleError: The assistant is not available.
    """
    get = GetAssistantRequest(reference=request.assistant_reference)
    response = await call(state.services.assistants.GetAssistant, get)
    if not response.readable:
        raise PermissionDeniedError("Only those who may read the assistant see its prompt.")
    bypass = Assistant()
    bypass.CopyFrom(response.assistant)
    bypass.model.CopyFrom(_BYPASS)
    _take_over(state)
    return RunCompletionRequest(
        assistant=bypass,
        messages=request.messages,
        options=request.options,
        functions=request.functions,
    )


def _take_over(state: State) -> None:
    """Continue the request with the gateway's own identity.

    A caller that sends an assistant along counts as its owner: it pays, and reads with its own
    rights. This assistant keeps its owner, and the gateway has checked that the caller may use it.
    """
    CALLER.set(state.credentials.caller())


async def _assistant(state: State, request: RunCompletionRequest) -> Assistant:
    """Return the complete assistant of a request, which the caller may use."""
    user = caller().identity
    get = GetAssistantRequest(
        reference=request.assistant_reference,
        user=User(subject=user.subject, organization=user.organization, scopes=user.scopes),
    )
    with state.credentials.as_service():
        return (await call(state.services.assistants.GetAssistant, get)).assistant
