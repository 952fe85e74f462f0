"""The functions of tools that somebody may call without an assistant, in the caller's own name."""

from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

import grpc
from heddle.assistant.v1.assistant_pb2 import MODE_FUNCTION, Assistant, ModelRef
from heddle.chat.v1.chat_pb2 import FunctionDeclaration
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.call_metadata import caller, new_call_options
from heddle_runtime.client import streaming
from heddle_runtime.errors import NotFoundError, ProviderGarbledError, from_rpc

from heddle_gateway.openai.models import LIST_TIMEOUT
from heddle_gateway.services import ask, every

if TYPE_CHECKING:
    from heddle_runtime.client import ResponseStream

    from heddle_gateway.state import State

Functions = dict[str, tuple[str, FunctionDeclaration]]
"""By the name that clients call: the tool, and the function as the tool service knows it."""
_AT_ONCE = 64
_NO_MODEL = ModelRef(connector="bypass", model="simple-bypass")
Told = Callable[[str], Coroutine[Any, Any, None]]


async def functions(state: "State") -> Functions:
    """Return the functions of all tools that need no configuration.

    Raises:
        HeddleError: The tool service does not tell.
    """
    names = [
        tool.name
        async for page in every(
            state.services.tools.ListTools, pb.ListToolsRequest(page_size=200), LIST_TIMEOUT
        )
        for tool in page.tools
        if MODE_FUNCTION in tool.modes
    ]
    found: Functions = {}
    for some in _portions(names):
        request = pb.ListFunctionsRequest(
            invocations=[pb.ToolInvocation(id=name, name=name) for name in some],
            assistant=_own(),
        )
        listed = await ask(state.services.tools.ListFunctions, request, LIST_TIMEOUT)
        for each in listed.functions:
            for function in each.functions:
                taken = function.name in found
                name = f"{each.id}__{function.name}" if taken else function.name
                found[name] = (each.id, function)
    return found


async def call(state: "State", name: str, arguments_json: str, told: Told) -> pb.ToolResult:
    """Return what a function returns.

    Args:
        state: The gateway.
        name: The function, as `functions` names it.
        arguments_json: The text of a JSON object.
        told: Is told what the tool does meanwhile.

    Raises:
        HeddleError: There is no such function, or it failed.
    """
    known = (await functions(state)).get(name)
    if known is None:
        raise NotFoundError(f"No function is named {name[:80]!r}.")
    tool, function = known
    called = pb.FunctionCall(name=function.name, arguments_json=arguments_json)
    request = pb.ExecuteToolRequest(
        invocation=pb.ToolInvocation(id=tool, name=tool, function_call=called),
        context=pb.RunContext(assistant=_own()),
    )
    run = state.services.tools.ExecuteTool(request, **new_call_options(state.settings.deadline))
    try:
        async with streaming(cast("ResponseStream[pb.ExecuteToolResponse]", run)) as events:
            async for event in events:
                if event.HasField("result"):
                    return event.result
                await told(event.status.message)
    except grpc.aio.AioRpcError as error:
        raise from_rpc(error) from error
    raise ProviderGarbledError("The tool service ended without a result.")


def _own() -> Assistant:
    """Return an assistant that is the caller's own: tools judge access by its owner."""
    identity = caller().identity
    return Assistant(owner=identity.subject, organization=identity.organization, model=_NO_MODEL)


def _portions(names: Sequence[str]) -> Iterator[Sequence[str]]:
    for first in range(0, len(names), _AT_ONCE):
        yield names[first : first + _AT_ONCE]
