"""Requests that an assistant is named in, but that are not answered as the assistant.

Open WebUI lets the model of a chat write its title, its tags and the like. Tools and templates
would make each of these as expensive as an answer, so a small model writes them. And LAMB's editor
shows what a model would be asked, without asking one.
"""

from typing import TYPE_CHECKING

from heddle.assistant.v1.assistant_pb2 import Assistant, GetAssistantRequest, ModelRef
from heddle.orchestrator.v1.orchestrator_pb2 import RunCompletionRequest
from heddle_runtime.call_metadata import CALLER, caller
from heddle_runtime.errors import PermissionDeniedError

from heddle_gateway.auth.permissions import may_change
from heddle_gateway.openai.chat.task_model import task_assistant
from heddle_gateway.services import ask

if TYPE_CHECKING:
    from heddle_gateway.state import State

TIMEOUT = 15.0
_BYPASS = ModelRef(connector="bypass", model="debug-bypass")


async def as_task(state: "State", request: RunCompletionRequest) -> RunCompletionRequest:
    """Return the request to a small model, without tools. The caller may use the assistant.

    Raises:
        HeddleError: The assistant cannot be had.
    """
    plain = await task_assistant(state, await _assistant(state, request))
    _take_over(state)
    return RunCompletionRequest(
        assistant=plain,
        messages=request.messages,
        options=request.options,
        charged_to=plain.id,
    )


async def as_shown(state: "State", request: RunCompletionRequest) -> RunCompletionRequest:
    """Return the request with the finished prompt as its answer.

    Raises:
        PermissionDeniedError: The caller may use the assistant, but not see how it is made.
        HeddleError: The assistant cannot be had.
    """
    found = await _assistant(state, request)
    if not may_change(caller().identity, found.owner, found.organization):
        raise PermissionDeniedError("Only those who may change the assistant see its prompt.")
    shown = Assistant()
    shown.CopyFrom(found)
    shown.model.CopyFrom(_BYPASS)
    _take_over(state)
    return RunCompletionRequest(
        assistant=shown,
        messages=request.messages,
        options=request.options,
        functions=request.functions,
    )


def _take_over(state: "State") -> None:
    """Make the request the gateway's own from here on.

    Who sends an assistant along owns it, pays for it and reads with it. This one stays its
    owner's, and the gateway has seen to it that the caller may ask for it.
    """
    CALLER.set(state.credentials.caller())


async def _assistant(state: "State", request: RunCompletionRequest) -> Assistant:
    wanted = GetAssistantRequest(reference=request.assistant_reference)
    return (await ask(state.services.assistants.GetAssistant, wanted, TIMEOUT)).assistant
