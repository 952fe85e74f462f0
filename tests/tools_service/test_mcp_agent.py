"""The tools of an MCP server, chosen and run by the routing agent."""

import json
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.contract.struct_codec import to_struct
from heddle_runtime.errors import from_status
from heddle_runtime.identity.call_metadata import CALLER, Caller, new_call_options
from runtime.accounts import SECRET
from tools_service.calling import SERVICE, Calling, calling_tools
from tools_service.mcp_calling import pins
from tools_service.serving import granted, said

COMMANDS = {"time": [sys.executable, "-m", "mcp_server_time", "--local-timezone=UTC"]}
SERVER = {"command": "time"}
BOTH = ("get_current_time", "convert_time")


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def tools(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Calling]:
    async with calling_tools(tmp_path_factory.mktemp("tools"), mcp_commands=COMMANDS) as calling:
        yield calling


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def offered(tools: Calling) -> dict[str, str]:
    """The pins of the server's functions."""
    return await pins(tools, SERVER)


def in_agent_run() -> pb.RunContext:
    context = said("What time is it in Berlin?")
    context.tree.user_prompt = "What time is it in Berlin?"
    return context


async def assessed(tools: Calling, config: dict[str, Any]) -> list[pb.Assessment]:
    invocation = pb.ToolInvocation(id="clock", name="mcp", config=to_struct(config))
    before = CALLER.set(Caller("req_test", SERVICE))
    try:
        context = granted(in_agent_run(), SECRET)
        request = pb.AssessToolsRequest(invocations=[invocation], context=context)
        response = await tools.client.stub.AssessTools(request, **new_call_options(30))
    finally:
        CALLER.reset(before)
    return list(response.assessments)


async def run(tools: Calling, config: dict[str, Any], function: str, **arguments: Any) -> Any:
    call = pb.FunctionCall(name=function, arguments_json=json.dumps(arguments))
    invocation = pb.ToolInvocation(id="1", name="mcp", config=to_struct(config), function_call=call)
    # A busy machine takes longer to start the command than tools have by default.
    invocation.timeout.FromSeconds(30)
    return await tools.event(invocation, in_agent_run())


async def test_each_accepted_function_is_a_choice_of_the_agent(
    tools: Calling, offered: dict[str, str]
) -> None:
    config = {**SERVER, "tools": list(BOTH), "pins": offered}

    choices = await assessed(tools, config)

    assert {each.function.name for each in choices} == set(BOTH)
    assert all(each.available and each.id == "clock" for each in choices)
    schema = json.loads(choices[0].function.parameters_schema_json)
    assert schema["required"]


async def test_the_agent_runs_a_function_and_gets_its_answer_as_an_object(
    tools: Calling, offered: dict[str, str]
) -> None:
    config = {**SERVER, "tools": list(BOTH), "pins": offered}

    event = await run(tools, config, "get_current_time", timezone="Europe/Berlin")

    [answer] = event.result.objects_json
    assert json.loads(json.loads(answer)["text"])["timezone"] == "Europe/Berlin"
    assert event.result.name == "get_current_time"


async def test_a_function_that_nobody_accepted_is_neither_a_choice_nor_run(
    tools: Calling, offered: dict[str, str]
) -> None:
    config = {
        **SERVER,
        "tools": list(BOTH),
        "pins": {"convert_time": offered["convert_time"]},
    }

    [choice] = await assessed(tools, config)
    event = await run(tools, config, "get_current_time", timezone="Europe/Berlin")

    assert choice.function.name == "convert_time"
    assert from_status(event.error).metadata["kind"] == "held_back"


async def test_a_server_without_accepted_functions_is_not_available(tools: Calling) -> None:
    [choice] = await assessed(tools, SERVER)

    assert not choice.available
    assert choice.reason == "It offers no function: its author has accepted none."


async def test_a_server_that_is_not_there_is_an_error_of_its_own(tools: Calling) -> None:
    [choice] = await assessed(tools, {"command": "absent", "tools": ["x"]})

    assert choice.HasField("error")
    assert not choice.available
