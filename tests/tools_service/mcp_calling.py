"""The tool `mcp`, listed and called as an orchestrator does."""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from heddle.assistant.v1 import assistant_pb2
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.contract.struct_codec import to_struct
from heddle_runtime.errors import HeddleError, from_status
from heddle_runtime.identity.call_metadata import CALLER, Caller, new_call_options
from heddle_runtime.identity.callers import Identity
from tools_service.calling import SERVICE, Calling
from tools_service.mcp_sites import Library
from tools_service.serving import said, text_of

MODEL = assistant_pb2.ModelRef(connector="bypass", model="simple-bypass")
UNI = assistant_pb2.Assistant(owner="ann@uni.example", organization="uni", model=MODEL)


async def listed(
    tools: Calling, *configs: Mapping[str, Any], assistant: assistant_pb2.Assistant = UNI
) -> list[pb.ToolFunctions]:
    """Return what models are told under some configurations."""
    invocations = [
        pb.ToolInvocation(id=str(number), name="mcp", config=to_struct(dict(config)))
        for number, config in enumerate(configs)
    ]
    request = pb.ListFunctionsRequest(invocations=invocations, assistant=assistant)
    before = CALLER.set(Caller("req_test", SERVICE))
    try:
        return list(
            (await tools.client.stub.ListFunctions(request, **new_call_options(30))).functions
        )
    finally:
        CALLER.reset(before)


async def pins(tools: Calling, server: Mapping[str, Any]) -> dict[str, str]:
    [found] = await listed(tools, server)
    assert not found.HasField("error"), found.error
    return {each.declaration.name: each.pin for each in found.held_back}


async def accepted(tools: Calling, site: Library, *names: str, **more: Any) -> dict[str, Any]:
    """Return a configuration that has accepted some tools of a library."""
    server = {"url": site.url}
    return {**server, "tools": list(names), "pins": await pins(tools, server), **more}


async def called(
    tools: Calling,
    config: Mapping[str, Any],
    function: str,
    organization: str = "uni",
    identity: Identity = SERVICE,
    run: str = "req_test",
    limit: float = 20,
    **arguments: Any,
) -> pb.ToolEvent:
    call = pb.FunctionCall(name=function, arguments_json=json.dumps(arguments))
    invocation = pb.ToolInvocation(
        id="1", name="mcp", config=to_struct(dict(config)), function_call=call
    )
    # The rest of the tool's time is for reporting the server's failure.
    invocation.timeout.FromTimedelta(timedelta(seconds=limit / 0.9))
    return await tools.event(invocation, said("?", organization=organization), identity, run)


async def answer(tools: Calling, config: Mapping[str, Any], function: str, **more: Any) -> str:
    event = await called(tools, config, function, **more)
    assert event.HasField("result"), event
    return text_of(event.result)


async def failure(
    tools: Calling, config: Mapping[str, Any], function: str, **more: Any
) -> HeddleError:
    event = await called(tools, config, function, **more)
    assert event.HasField("error"), event
    return from_status(event.error)
