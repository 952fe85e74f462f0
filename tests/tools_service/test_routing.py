"""Tools of the mode `agent`: what they see of a run, and what they say about themselves to it."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.contract.struct_codec import to_struct
from heddle_runtime.errors import from_status
from heddle_runtime.identity.call_metadata import new_call_options
from heddle_tools_service.definitions.checks import DefinitionError
from heddle_tools_service.installed.registry import Registry
from heddle_tools_service.sdk import (
    Example,
    ToolArguments,
    ToolCall,
    ToolError,
    ToolResult,
    Trigger,
    tool,
)
from pydantic import Field
from tools_service.serving import Client, outcome, said, serving_tools, text_of


class Wanted(ToolArguments):
    """What to look for."""

    query: str = Field(default="", description="What to look for.")
    limit: int = Field(default=5, ge=1, description="The most results.")


async def _pages_were_found(call: ToolCall[Any]) -> bool:
    if not call.environment.find("find_pages"):
        raise ToolError("No page was found yet.")
    return True


async def _too_much(call: ToolCall[Any]) -> Trigger | None:
    tokens = call.environment.estimate_tokens()
    return Trigger({"limit": 2}, cause="too much") if tokens > 100 else None


async def _any_page(call: ToolCall[Any]) -> Trigger | None:
    return Trigger(cause="pages") if call.environment.find("find_pages", "manual") else None


@tool("look", title="Look", modes=("agent",), available=_pages_were_found)
async def look(call: ToolCall[Any, Wanted]) -> ToolResult:
    """Looks at a page."""
    tree = call.tree
    pages = [page["page"] for page in call.environment.find("find_pages")]
    told = {
        "prompt": tree.user_prompt,
        "iterations": tree.num_iterations,
        "pages": pages,
        "history": [(past.tool, past.inputs, past.new_objects) for past in tree.history],
        "errors": [(error.tool, error.suggestion) for error in call.environment.errors],
        "limit": call.arguments.limit,
    }
    return ToolResult("", objects=[told], name="page", message="Looked at a page.")


@tool("shorten", title="Shorten", modes=("agent",), trigger=_too_much)
async def shorten(call: ToolCall[Any, Wanted]) -> ToolResult:
    """Shortens what was found."""
    return ToolResult(f"at most {call.arguments.limit}")


@tool("note", title="Note", modes=("agent",), trigger=_any_page, end=True)
async def note(call: ToolCall[Any, Wanted]) -> ToolResult:
    """Notes down."""
    return ToolResult(f"noted {call.arguments.limit}")


@tool(
    "find",
    title="Find",
    modes=("augment", "function", "agent"),
    examples=[Example("Where is the fuse?", {"query": "fuse"})],
)
async def find(call: ToolCall[Any, Wanted]) -> ToolResult:
    """Finds passages."""
    return ToolResult(f"found {call.arguments.query}")


FOUND = pb.Finding(
    tool="find_pages", name="manual", objects_json=['{"page": 7}'], metadata=to_struct({"count": 1})
)


def tree(*found: pb.Finding, tokens: int = 0, **more: Any) -> pb.RunContext:
    environment = pb.Environment(findings=found, estimated_tokens=tokens, **more)
    history = [pb.PastRun(tool="find_pages", inputs_json='{"query": "x"}', new_objects=1)]
    context = said("Where is it?")
    context.tree.CopyFrom(
        pb.TreeData(
            user_prompt="Where is it?", iterations=1, environment=environment, history=history
        )
    )
    return context


async def assessments(
    client: Client, *names: str, context: pb.RunContext | None = None
) -> Mapping[str, pb.Assessment]:
    invocations = [pb.ToolInvocation(id=name, name=name) for name in names]
    request = pb.AssessToolsRequest(invocations=invocations, context=context)
    response = await client.stub.AssessTools(request, **new_call_options(10))
    return {each.id: each for each in response.assessments}


async def test_a_tool_says_whether_it_is_available_now_and_why_not() -> None:
    async with serving_tools(look, find) as client:
        before = await assessments(client, "look", "find")
        after = await assessments(client, "look", context=tree(FOUND))

    assert (before["look"].available, before["look"].reason) == (False, "No page was found yet.")
    assert before["find"].available
    assert after["look"].available


async def test_a_page_that_is_found_under_no_object_counts_as_nothing_found() -> None:
    nothing = pb.Finding(tool="find_pages", name="manual")

    async with serving_tools(look) as client:
        told = await assessments(client, "look", context=tree(nothing))

    assert not told["look"].available


async def test_the_agent_is_told_what_a_tool_takes_and_what_it_is_right_for() -> None:
    async with serving_tools(find, note) as client:
        told = await assessments(client, "find", "note")

    assert told["find"].function.name == "find"
    assert told["find"].function.description == "Finds passages."
    assert "query" in json.loads(told["find"].function.parameters_schema_json)["properties"]
    assert [each.request for each in told["find"].examples] == ["Where is the fuse?"]
    assert json.loads(told["find"].examples[0].arguments_json) == {"query": "fuse"}
    assert (told["find"].end, told["note"].end) == (False, True)


async def test_two_triggered_tools_keep_their_own_inputs() -> None:
    async with serving_tools(shorten, note, find) as client:
        told = await assessments(client, "shorten", "note", "find", context=tree(FOUND, tokens=101))
        calm = await assessments(client, "shorten", context=tree(FOUND, tokens=100))

    assert json.loads(told["shorten"].trigger.inputs_json) == {"limit": 2}
    assert told["shorten"].trigger.cause == "too much"
    assert (told["note"].trigger.inputs_json, told["note"].trigger.cause) == ("", "pages")
    assert not told["find"].HasField("trigger")
    assert not calm["shorten"].HasField("trigger")


async def test_a_tool_that_cannot_be_asked_is_told_and_disturbs_no_other() -> None:
    @tool("deaf", title="Deaf", modes=("agent",), available=_broken)
    async def deaf(_: object) -> ToolResult:
        """Fails when asked."""
        return ToolResult("")

    @tool("slot_only", title="Slot only")
    async def slot_only(_: object) -> ToolResult:
        """Fills a slot."""
        return ToolResult("")

    async with serving_tools(deaf, slot_only, find) as client:
        told = await assessments(client, "deaf", "slot_only", "nobody", "find")

    assert told["find"].available
    assert "secret" not in from_status(told["deaf"].error).message
    assert "mode 'agent'" in from_status(told["slot_only"].error).message
    assert "nobody" in from_status(told["nobody"].error).message
    assert not any(told[name].available for name in ("deaf", "slot_only", "nobody"))


async def _broken(_: ToolCall[Any]) -> bool:
    raise RuntimeError("a secret")


async def run(client: Client, name: str, arguments: str, context: pb.RunContext) -> pb.ToolResult:
    call = pb.FunctionCall(name=name, arguments_json=arguments)
    asked = pb.ToolInvocation(id="1", name=name, function_call=call)
    told = outcome(await client.run_all([asked], context), "1")
    assert isinstance(told, pb.ToolResult), told
    return told


async def test_a_tool_sees_the_state_of_the_run_and_brings_its_objects_back() -> None:
    failed = pb.EnvironmentError(tool="web", message="down", suggestion="try later")

    async with serving_tools(look) as client:
        told = await run(client, "look", '{"limit": 3}', tree(FOUND, errors=[failed]))

    assert (told.name, told.message) == ("page", "Looked at a page.")
    [found] = told.objects_json
    assert json.loads(found) == {
        "prompt": "Where is it?",
        "iterations": 1,
        "pages": [7],
        "history": [["find_pages", {"query": "x"}, 1]],
        "errors": [["web", "try later"]],
        "limit": 3,
    }


async def test_text_alone_is_one_object_for_the_agent_and_none_for_others() -> None:
    async with serving_tools(find) as client:
        routed = await run(client, "find", '{"query": "é"}', tree())
        called = await run(client, "find", '{"query": "é"}', said("?"))

    assert [json.loads(each) for each in routed.objects_json] == [{"text": "found é"}]
    assert routed.name == "find"
    assert not called.objects_json


async def test_objects_are_for_the_agent_alone() -> None:
    @tool("finder", title="Finder", modes=("augment", "function", "agent"))
    async def finder(call: ToolCall[Any]) -> ToolResult:
        """Finds a thing."""
        return ToolResult(call.mode, objects=[{"mode": call.mode}])

    async with serving_tools(finder) as client:
        routed = await run(client, "finder", '{"query": "x"}', tree())
        called = await run(client, "finder", '{"query": "x"}', said("?"))
        _, filled = await client.run("finder")

    assert list(routed.objects_json) == ['{"mode": "agent"}']
    assert [text_of(each) for each in (called, filled)] == ["function", "augment"]
    assert not called.objects_json
    assert not filled.objects_json


async def test_objects_that_are_no_json_are_left_out_with_a_warning() -> None:
    @tool("odd", title="Odd", modes=("agent",))
    async def odd(_: object) -> ToolResult:
        """Finds odd things."""
        wrong: Any = [{"a": 1}, {"b": object()}, ["c"], {"d": float("nan")}]
        return ToolResult("", objects=wrong)

    async with serving_tools(odd) as client:
        told = await run(client, "odd", '{"query": "x"}', tree())

    assert told.objects_json == ['{"a": 1}']
    assert told.warnings == ["3 of the tool's objects are no JSON objects and were left out."]


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"modes": ("augment",), "end": True}, "end is for the mode agent"),
        ({"modes": ("augment",), "trigger": _too_much}, "trigger is for the mode agent"),
        (
            {"modes": ("agent",), "examples": [Example("x", {"limit": 0})]},
            "in its example 1 arguments.limit must be at least 1",
        ),
        ({"modes": ("agent",), "examples": [Example(" ", {"query": "x"})]}, "has no request"),
        ({"modes": ("augment",), "examples": [Example("x")]}, "no use without a function"),
    ],
)
def test_a_definition_that_the_agent_could_not_use_is_refused(
    given: Mapping[str, Any], complaint: str
) -> None:
    @tool("wrong", title="Wrong", **given)
    async def wrong(_: ToolCall[Any, Wanted]) -> ToolResult:
        """Is wrong."""
        return ToolResult("")

    with pytest.raises(DefinitionError, match=complaint):
        Registry.of(wrong)


async def test_what_is_of_no_use_is_not_offered_to_models_either() -> None:
    async def never(_: ToolCall[Any]) -> bool:
        return False

    @tool("idle", title="Idle", modes=("function", "agent"), available=never)
    async def idle(_: object) -> ToolResult:
        """Waits."""
        return ToolResult("")

    async with serving_tools(idle) as client:
        request = pb.ListFunctionsRequest(invocations=[pb.ToolInvocation(id="1", name="idle")])
        listed = await client.stub.ListFunctions(request, **new_call_options(10))
        told = await assessments(client, "idle")

    assert not listed.functions[0].functions
    assert (told["idle"].available, told["idle"].reason) == (False, "It is of no use now.")
