"""What a tool is asked besides being run goes wrong for itself alone, over real calls."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.errors import DeadlineError, HeddleError, from_status
from heddle_runtime.identity.call_metadata import new_call_options
from heddle_tools_service.sdk import OfferContext, Tool, ToolCall, ToolResult, tool
from tools_service.serving import invocation, outcome, serving_tools


async def _hangs(_: ToolCall[Any]) -> bool:
    await asyncio.sleep(60)
    return True


async def _leaves(_: ToolCall[Any]) -> bool:
    sys.exit(3)


async def _cancels(_: ToolCall[Any]) -> bool:
    raise asyncio.CancelledError


def asking(name: str, available: Callable[[ToolCall[Any]], Awaitable[bool]] | None) -> Tool:
    @tool(name, title="Asks", modes=("function", "agent"), available=available)
    async def asks(_: object) -> ToolResult:
        """Asks."""
        return ToolResult("")

    return asks


@pytest.mark.parametrize(
    ("available", "kind"),
    [(_hangs, DeadlineError), (_leaves, HeddleError), (_cancels, HeddleError)],
)
async def test_a_tool_that_does_not_say_whether_it_is_of_use_keeps_no_other_from_it(
    available: Callable[[ToolCall[Any]], Awaitable[bool]], kind: type[HeddleError]
) -> None:
    invocations = [invocation("good", "good"), invocation("bad", "bad")]
    tools = asking("good", None), asking("bad", available)
    async with serving_tools(*tools, default_timeout=0.3) as client:
        functions = await client.stub.ListFunctions(
            pb.ListFunctionsRequest(invocations=invocations), **new_call_options(10)
        )
        assessments = await client.stub.AssessTools(
            pb.AssessToolsRequest(invocations=invocations), **new_call_options(10)
        )

    offered, not_offered = functions.functions
    assert [each.name for each in offered.functions] == ["good"]
    assert type(from_status(not_offered.error)) is kind
    usable, unusable = assessments.assessments
    assert usable.available
    assert type(from_status(unusable.error)) is kind


async def test_a_tool_that_leaves_when_asked_whether_it_is_enabled_ends_no_other() -> None:
    def leaves(_: OfferContext[Any]) -> bool:
        sys.exit(3)

    @tool("bad", title="Bad", modes=("function",), enabled=leaves)
    async def bad(_: object) -> ToolResult:
        """Is bad."""
        return ToolResult("")

    asked = pb.FunctionCall(arguments_json='{"query": "sheds"}')
    invocations = [
        pb.ToolInvocation(id=name, name=name, function_call=asked) for name in ("good", "bad")
    ]
    for each in invocations:
        each.function_call.name = each.name
    async with serving_tools(asking("good", None), bad) as client:
        events = await client.run_all(invocations)

    assert isinstance(outcome(events, "good"), pb.ToolResult)
    assert type(outcome(events, "bad")) is HeddleError
