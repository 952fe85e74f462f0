"""What the tools of one run may use, and how often they may run."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress

import grpc
import pytest
from heddle.chat.v1 import chat_pb2
from heddle.connector.v1 import connector_pb2
from heddle.tool.v1 import tool_pb2
from heddle_orchestrator.agent.repeat_detection import repetition
from heddle_orchestrator.agent.state import PastRun, State
from heddle_orchestrator.functions.budget import Budget
from heddle_runtime.identity.call_metadata import Context
from orchestrator.agent.scripted_services import SEARCHES, Model, ToolServer, routing
from orchestrator.harness import (
    Connector,
    Tools,
    ask,
    assistant,
    function,
    orchestrating,
    prompt_of,
    tool,
)

SECONDS = 2.4
"""The time for a run, shorter than the usual timeout of a tool."""
PAUSE = 1.2
"""Passes before the first tool runs."""


class SlowModel(Connector):
    """Takes a while for its call."""

    async def GenerateMessage(
        self, request: connector_pb2.GenerateMessageRequest, context: Context
    ) -> AsyncIterator[connector_pb2.GenerateMessageResponse]:
        await asyncio.sleep(0 if self.seen else PAUSE)
        async for response in super().GenerateMessage(request, context):
            yield response


class SlowTools(ToolServer):
    """Takes a while to say which tools are available."""

    async def AssessTools(
        self, request: tool_pb2.AssessToolsRequest, context: Context
    ) -> tool_pb2.AssessToolsResponse:
        await asyncio.sleep(0 if self.trees else PAUSE)
        return await super().AssessTools(request, context)


class Twice(Tools):
    """Sends a second outcome of each tool."""

    async def ExecuteTools(
        self, request: tool_pb2.ExecuteToolsRequest, context: Context
    ) -> AsyncIterator[tool_pb2.ExecuteToolsResponse]:
        for words in ("first", "second"):
            result = tool_pb2.ToolResult(parts=[chat_pb2.ContentPart(text=words)], slot="context")
            events = [tool_pb2.ToolEvent(id=each.id, result=result) for each in request.invocations]
            yield tool_pb2.ExecuteToolsResponse(events=events)


async def test_the_first_outcome_of_a_tool_counts() -> None:
    async with orchestrating(Twice()) as harness:  # type: ignore[abstract] # it has what an orchestrator calls
        await harness.events(ask(assistant(tool("look", "context"), template="{context}")))
        assert "first" in prompt_of(harness)
        assert "second" not in prompt_of(harness)


@pytest.mark.parametrize("mode", ["function", "agent"])
async def test_a_tool_may_use_half_of_the_remaining_time(mode: str) -> None:
    is_agent = mode == "agent"
    tools = SlowTools() if is_agent else Tools()  # type: ignore[abstract] # as above
    model = Model() if is_agent else SlowModel(calls=1)  # type: ignore[abstract] # as above
    target = routing(*SEARCHES) if is_agent else assistant(function("look"))
    async with orchestrating(tools, model) as harness:
        with suppress(grpc.aio.AioRpcError):  # what follows may lack the time
            await harness.batches(ask(target, "What is the voltage?"), SECONDS)
    timeout = tools.seen[0].invocations[0].timeout.ToTimedelta().total_seconds()
    assert 0 < timeout <= (SECONDS - PAUSE) / 2


@pytest.mark.parametrize("used", [(100, 0), (0, 100), (50, 50)])
def test_tokens_of_prompts_and_of_answers_count(used: Sequence[int]) -> None:
    budget = Budget(rounds=9, seconds=9.0, tokens=100)
    prompt, completion = used
    budget.take_tokens(chat_pb2.Usage(prompt_tokens=prompt, completion_tokens=completion))
    assert budget.stopped == "stopped: the tokens of the run are used up"


@pytest.mark.parametrize("recoverable", [False, True])
def test_a_tool_that_failed_twice_does_not_run_again(*, recoverable: bool) -> None:
    past = PastRun("look", {"query": "looms"}, 0, failed=True, recoverable=recoverable)
    once, twice = State("x", "x", history=[past]), State("x", "x", history=[past, past])
    assert bool(repetition(once, "look", past.inputs)) is not recoverable
    assert repetition(twice, "look", past.inputs)
