"""Tools that yield what they do and find, as they go on."""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import pytest
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.errors import HeddleError
from heddle_tools_service.definitions.checks import DefinitionError
from heddle_tools_service.installed.registry import Registry
from heddle_tools_service.sdk import (
    Error,
    Query,
    Response,
    Result,
    Status,
    Tool,
    ToolCall,
    ToolOutput,
    ToolResult,
    tool,
)
from tools_service.neighbours import failure_of, run_tool
from tools_service.serving import Client, outcome, said, serving_tools, text_of

PAGE = {"page": 3, "manual": "Guide", "text": "The port is 22."}


def yielding(*outputs: object) -> Tool:
    """Return a tool that yields just these."""

    @tool("teller", title="Teller", modes=("augment", "function", "agent"))
    async def teller(_: ToolCall[Any]) -> AsyncGenerator[Any]:
        """Tells what it is told to."""
        for each in outputs:
            yield each

    return teller


async def run(client: Client, name: str, context: pb.RunContext) -> pb.ToolResult | HeddleError:
    call = pb.FunctionCall(name=name, arguments_json='{"query": "port"}')
    asked = pb.ToolInvocation(id="1", name=name, function_call=call)
    return outcome(await client.run_all([asked], context), "1")


def routed() -> pb.RunContext:
    context = said("Which port?")
    context.tree.user_prompt = "Which port?"
    return context


async def test_statuses_are_told_as_they_come_and_the_rest_is_one_result() -> None:
    going_on = asyncio.Event()

    @tool("searcher", title="Searcher", modes=("function",))
    async def searcher(call: ToolCall[Any, Query]) -> AsyncGenerator[Result | Status]:
        """Searches."""
        yield Status(f"searching for {call.query}")
        await going_on.wait()
        yield Result([PAGE], "guide", {"count": 1}, "Found one.")
        yield Result([{"text": "More."}], metadata={"more": 1}, llm_message="And one.")

    async with serving_tools(searcher) as client:
        called = pb.FunctionCall(name="searcher", arguments_json='{"query": "port"}')
        request = pb.ExecuteToolRequest(
            invocation=pb.ToolInvocation(id="1", name="searcher", function_call=called)
        )
        events = client.stub.ExecuteTool(request, timeout=10)
        first = await anext(aiter(events))
        going_on.set()
        [last] = [event async for event in events]

    assert first.status.message == "searching for port"
    assert json.loads(text_of(last.result)) == {
        "name": "guide",
        "objects": [PAGE, {"text": "More."}],
        "metadata": {"count": 1, "more": 1},
        "llm_message": "Found one. And one.",
    }
    assert (last.result.name, last.result.message) == ("guide", "Found one. And one.")
    [source] = last.result.sources
    assert (source.title, source.excerpt, dict(source.attributes)) == (
        *("Guide", "The port is 22."),
        {"page": "3"},
    )


async def test_the_agent_gets_the_objects_and_a_slot_their_texts() -> None:
    async with serving_tools(yielding(Result([PAGE, {"pin": 7}], "guide"))) as client:
        told = await run(client, "teller", routed())
        _, filled = await client.run("teller")

    assert isinstance(told, pb.ToolResult)
    assert [json.loads(each) for each in told.objects_json] == [PAGE, {"pin": 7}]
    assert told.name == "guide"
    assert text_of(filled) == 'The port is 22.\n\n{"pin": 7}'


async def test_a_response_is_the_text_and_an_object_with_its_sources() -> None:
    answer = Response("It is 22.", [{"page": 3, "manual": "Guide"}])
    async with serving_tools(yielding(Result([PAGE]), answer)) as client:
        told = await run(client, "teller", routed())

    assert isinstance(told, pb.ToolResult)
    assert text_of(told) == "It is 22."
    assert json.loads(told.objects_json[1]) == {
        "text": "It is 22.",
        "sources": [{"page": 3, "manual": "Guide"}],
    }
    assert [source.title for source in told.sources] == ["Guide"]


async def test_an_error_alone_is_the_tools_failure_and_beside_a_result_a_warning() -> None:
    error = Error("The index is busy.", recoverable=True, suggestion="Try later")
    async with serving_tools(yielding(Status("x"), error)) as client:
        failed = await run(client, "teller", routed())
    partly = await run_tool(yielding(error, Result([PAGE])), {}, {"query": "x"})

    assert isinstance(failed, HeddleError)
    assert failed.message == "The index is busy."
    assert json.loads(failed.metadata["details_json"]) == {
        "recoverable": True,
        "suggestion": "Try later",
    }
    assert list(partly.result.warnings) == ["The index is busy."]
    assert partly.result.objects == [PAGE]


@pytest.mark.parametrize(
    ("wrong", "kind", "remedy"),
    [
        ("found it", "'str'", "wrap it in one of them"),
        ({"text": "found it"}, "'dict'", "wrap it in one of them"),
        (None, "'NoneType'", "wrap it in one of them"),
        (ToolResult("found it"), "'ToolResult'", "yield a Result"),
        (Result, "'type'", "wrap it in one of them"),
    ],
)
async def test_anything_else_that_is_yielded_is_refused_by_name_and_type(
    wrong: object, kind: str, remedy: str
) -> None:
    closed = asyncio.Event()

    @tool("mistaken", title="Mistaken", modes=("function",))
    async def mistaken(_: ToolCall[Any]) -> AsyncGenerator[Any]:
        """Yields a wrong thing."""
        try:
            yield Result([PAGE])
            yield wrong
        finally:
            closed.set()

    async with serving_tools(mistaken) as client:
        failed = await run(client, "mistaken", said("?"))

    assert isinstance(failed, HeddleError)
    for part in ("'mistaken'", kind, "Result, Error, Response and Status", remedy):
        assert part in failed.message
    assert closed.is_set()


async def test_results_of_two_names_are_refused() -> None:
    error = await failure_of(yielding(Result([PAGE], "a"), Result([PAGE], "b")), {}, {"query": "x"})

    assert "'teller'" in str(error)
    assert "'a' and 'b'" in str(error)


async def test_a_tool_that_yields_nothing_has_found_nothing() -> None:
    ran = await run_tool(yielding(Status("looking")), {}, {"query": "x"})

    assert (ran.statuses, ran.result.text) == (["looking"], "")


async def test_a_tool_that_yields_ends_with_its_time() -> None:
    closed = asyncio.Event()

    @tool("endless", title="Endless")
    async def endless(_: ToolCall[Any]) -> AsyncGenerator[ToolOutput]:
        """Never ends."""
        try:
            while True:
                yield Status("waiting")
                await asyncio.sleep(0.01)
        finally:
            closed.set()

    asked = pb.ToolInvocation(id="1", name="endless")
    asked.timeout.FromMilliseconds(100)
    async with serving_tools(endless) as client:
        failed = outcome(await client.run_all([asked], said("?")), "1")
        await asyncio.wait_for(closed.wait(), 5)

    assert isinstance(failed, HeddleError)
    assert "did not finish within 0.1 s" in failed.message


def test_a_tool_that_yields_without_being_async_is_refused() -> None:
    wrong: Any = tool("plain", title="Plain")

    def plain(_: ToolCall[Any]) -> Iterator[Result]:
        """Yields in a thread."""
        yield Result()

    with pytest.raises(DefinitionError, match="write `async def`"):
        Registry.of(wrong(plain))
