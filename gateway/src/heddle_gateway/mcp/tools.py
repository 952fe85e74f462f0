"""The functions of tools that can be called without an assistant, on behalf of the caller."""

from collections.abc import Callable, Coroutine
from typing import Any, cast

import grpc
from heddle.assistant.v1.assistant_pb2 import (
    CHANGE_POLICY_RUN,
    MODE_FUNCTION,
    Assistant,
    ModelRef,
)
from heddle.chat.v1.chat_pb2 import FunctionDeclaration
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.contract.limits import MAX_TOOLS
from heddle_runtime.errors import NotFoundError, ProviderGarbledError, from_rpc
from heddle_runtime.identity.call_metadata import caller, new_call_options
from heddle_runtime.identity.permissions import has
from heddle_runtime.rpc.client import ResponseStream, streaming

from heddle_gateway.services import LIST_SECONDS, call, items
from heddle_gateway.state import State

Functions = dict[str, tuple[str, FunctionDeclaration, pb.ToolEffect.ValueType]]
"""The functions by their names for clients: the tool, its name of the function, and the effect."""
_NO_MODEL = ModelRef(connector="bypass", model="simple-bypass")
Report = Callable[[str], Coroutine[Any, Any, None]]


async def functions(state: State) -> Functions:
    """Return the functions of all tools that need no configuration; none without `run_tools`.

    Clients of MCP ask their users themselves, so functions that Heddle must ask for are left out.

    Raises:
        HeddleError: The tool service does not answer.
    """
    if not has(caller().identity, "run_tools"):  # learners ask assistants
        return {}
    request = pb.ListToolsRequest()
    tools = await items(state.services.tools.ListTools, request, "tools", LIST_SECONDS)
    effects = {tool.name: tool.effect for tool in tools if MODE_FUNCTION in tool.modes}
    names = list(effects)
    by_name: Functions = {}
    for first in range(0, len(names), MAX_TOOLS):
        invocations = [
            pb.ToolInvocation(id=name, name=name, on_change=CHANGE_POLICY_RUN)
            for name in names[first : first + MAX_TOOLS]
        ]
        batch = pb.ListFunctionsRequest(invocations=invocations, assistant=_own_assistant())
        response = await call(state.services.tools.ListFunctions, batch, LIST_SECONDS)
        for tool in response.functions:
            for function, policy in zip(tool.functions, tool.policies, strict=True):
                if policy != CHANGE_POLICY_RUN:
                    continue
                taken = function.name in by_name
                name = f"{tool.id}__{function.name}" if taken else function.name
                by_name[name] = (tool.id, function, effects[tool.id])
    return by_name


async def call_function(
    state: State, name: str, arguments_json: str, report: Report
) -> pb.ToolResult:
    """Return the result of a function.

    Args:
        state: The gateway.
        name: The function, as `functions` names it.
        arguments_json: The text of a JSON object.
        report: Receives the progress of the tool.

    Raises:
        HeddleError: There is no such function, or it failed.
    """
    entry = (await functions(state)).get(name)
    if entry is None:
        raise NotFoundError(f"No function is named {name[:80]!r}.")
    tool, function, _ = entry
    function_call = pb.FunctionCall(name=function.name, arguments_json=arguments_json)
    request = pb.ExecuteToolRequest(
        invocation=pb.ToolInvocation(id=tool, name=tool, function_call=function_call),
        context=pb.RunContext(assistant=_own_assistant()),
    )
    run = state.services.tools.ExecuteTool(
        request, **new_call_options(state.settings.deadline_seconds)
    )
    try:
        async with streaming(cast("ResponseStream[pb.ExecuteToolResponse]", run)) as events:
            async for event in events:
                if event.HasField("result"):
                    return event.result
                await report(event.status.message)
    except grpc.aio.AioRpcError as error:
        raise from_rpc(error) from error
    raise ProviderGarbledError("The tool service ended without a result.")


def _own_assistant() -> Assistant:
    """Return an assistant of the caller: tools check permissions by its owner."""
    identity = caller().identity
    return Assistant(owner=identity.subject, organization=identity.organization, model=_NO_MODEL)
