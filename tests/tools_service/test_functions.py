"""Tools that a model calls, over real calls: what it is told of them, and what its calls become."""

import json
from typing import Any

import pytest
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.errors import (
    HeddleError,
    InvalidRequestError,
    NotFoundError,
    UnavailableError,
    Violation,
    from_status,
)
from heddle_runtime.identity.call_metadata import new_call_options
from heddle_tools_service.definitions.checks import DefinitionError
from heddle_tools_service.installed.registry import Registry
from heddle_tools_service.sdk import (
    ToolArguments,
    ToolCall,
    ToolConfig,
    ToolError,
    ToolResult,
    ToolUnavailableError,
    tool,
)
from pydantic import Field
from tools_service.serving import invocation, outcome, said, serving_tools, text_of


class City(ToolArguments):
    """Where."""

    city: str = Field(min_length=1, description="Name of the city.")
    days: int = Field(default=1, ge=1, le=7, description="How many days.")


class Units(ToolConfig):
    """In which units."""

    unit: str = Field(description="The unit.", examples=["C"])


ran: list[tuple[str, Any]] = []


@tool(
    "weather_of",
    title="Weather",
    function="get_weather",
    modes=("function",),
)
async def weather_of(call: ToolCall[Units, City]) -> ToolResult:
    """Tells the weather."""
    ran.append((call.config.unit, call.arguments))
    return ToolResult.json({"city": call.arguments.city, "days": call.arguments.days})


@tool("echo", title="Echo", modes=("augment", "function"))
def echo(call: ToolCall[Any]) -> ToolResult:
    """Repeats."""
    return ToolResult(call.query)


@tool("silent", title="Silent")
async def silent(_: object) -> ToolResult:
    """Says nothing."""
    return ToolResult("")


def called(name: str, arguments: str, tool_name: str = "weather_of") -> pb.ToolInvocation:
    config = {"unit": "C"} if tool_name == "weather_of" else {}
    made = invocation("1", tool_name, config)
    made.function_call.CopyFrom(pb.FunctionCall(name=name, arguments_json=arguments))
    return made


async def result_of(made: pb.ToolInvocation) -> "pb.ToolResult | HeddleError":
    ran.clear()
    async with serving_tools(weather_of, echo, silent) as client:
        return outcome(await client.run_all([made], said("Hello there")), "1")


async def test_a_call_reaches_the_tool_checked_and_with_defaults() -> None:
    found = await result_of(called("get_weather", '{"city": "Paris"}'))

    assert isinstance(found, pb.ToolResult)
    assert json.loads(text_of(found)) == {"city": "Paris", "days": 1}
    assert ran == [("C", City(city="Paris"))]


@pytest.mark.parametrize(
    ("arguments", "violation"),
    [
        ("{}", Violation("arguments.city", "is required")),
        ("", Violation("arguments.city", "is required")),
        ('{"city": ""}', Violation("arguments.city", "must have at least 1 characters")),
        ('{"city": "P", "days": "2"}', Violation("arguments.days", "must be of type integer")),
        (
            '{"city": "P", "user": 1}',
            Violation("arguments.user", "is not an argument of this function"),
        ),
        ("[1]", Violation("arguments", "must be a JSON object")),
        (
            '{"city": "Par',
            Violation("arguments", "are not JSON: Unterminated string starting at at character 9"),
        ),
        (
            '{"days": NaN}',
            Violation("arguments", "hold a number that JSON does not know, or a far too long one"),
        ),
        ("[" * 100_000, Violation("arguments", "are nested too deep")),
        (
            json.dumps({"city": "x" * 1_000_000}),
            Violation("arguments", "must have at most 1,000,000 characters"),
        ),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)
async def test_wrong_arguments_are_told_and_the_tool_is_not_run(
    arguments: str, violation: Violation
) -> None:
    found = await result_of(called("get_weather", arguments))

    assert isinstance(found, InvalidRequestError)
    assert found.violations == (violation,)
    assert violation.description in found.message
    assert found.metadata["kind"] == "invalid_arguments"
    assert not ran


async def test_what_a_model_asks_for_is_the_query_of_a_tool_without_arguments() -> None:
    found = await result_of(called("echo", '{"query": "sheds"}', "echo"))
    assert isinstance(found, pb.ToolResult)
    assert text_of(found) == "sheds"

    filled = await result_of(invocation("1", "echo"))
    assert isinstance(filled, pb.ToolResult)
    assert text_of(filled) == "Hello there"


async def test_another_function_than_the_tools_is_not_found() -> None:
    assert isinstance(await result_of(called("get_time", "{}")), NotFoundError)


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (invocation("1", "weather_of", {"unit": "C"}), "'augment', only in 'function'"),
        (called("silent", "{}", "silent"), "'function', only in 'augment'"),
    ],
)
async def test_a_mode_that_the_tool_has_not_is_refused(made: pb.ToolInvocation, told: str) -> None:
    found = await result_of(made)

    assert isinstance(found, InvalidRequestError)
    assert told in found.message


async def test_functions_are_listed_for_each_configuration() -> None:
    invocations = [
        invocation("a", "weather_of", {"unit": "C"}),
        invocation("b", "weather_of"),
        invocation("c", "silent"),
        invocation("d", "unheard_of"),
    ]
    async with serving_tools(weather_of, echo, silent) as client:
        request = pb.ListFunctionsRequest(invocations=invocations)
        response = await client.stub.ListFunctions(request, **new_call_options(5))

    good, wrong, uncallable, unknown = response.functions
    [declared] = good.functions
    assert (good.id, declared.name, declared.description) == (
        *("a", "get_weather"),
        "Tells the weather.",
    )
    schema = json.loads(declared.parameters_schema_json)
    assert schema["required"] == ["city"]
    assert "description" not in schema
    assert from_status(wrong.error).message == "No unit configured"
    assert "only in 'augment'" in uncallable.error.message
    assert isinstance(from_status(unknown.error), NotFoundError)


async def test_a_failure_tells_its_kind_and_details() -> None:
    @tool("patch", title="Patch", modes=("augment", "function"))
    async def patch(_: object) -> ToolResult:
        """Patches."""
        details = {
            "line": 3,
            "key": "sk-abcdefghijklmnopqrstuvwxyz123456",
            # Together, as text, they would look like an address with a password.
            "site": "https://ana:",
            "seen": ["at@home"],
        }
        raise ToolError("No match.", kind="content_mismatch", details=details)

    @tool("remote", title="Remote", modes=("augment", "function"))
    async def remote(_: object) -> ToolResult:
        """Reaches out."""
        raise ToolUnavailableError("Down.", kind="down", details={"a": object()})

    async with serving_tools(patch, remote) as client:
        events = await client.run_all([invocation("1", "patch"), invocation("2", "remote")])

    failed, down = outcome(events, "1"), outcome(events, "2")
    assert isinstance(failed, HeddleError)
    assert failed.metadata["kind"] == "content_mismatch"
    details = json.loads(failed.metadata["details_json"])
    assert details["line"] == 3
    assert details["key"] == "[redacted]"
    assert (details["site"], details["seen"]) == ("https://ana:", ["at@home"])
    assert isinstance(down, UnavailableError)
    assert down.metadata["kind"] == "down"
    assert "details_json" not in down.metadata


@pytest.mark.parametrize("name", ["get weather", "1st", "x" * 65, "größe"])
def test_a_name_that_providers_refuse_is_refused(name: str) -> None:
    @tool("weather_of", title="Weather", function=name, modes=("function",))
    async def odd(_: object) -> ToolResult:
        """Tells the weather."""
        return ToolResult("")

    with pytest.raises(DefinitionError, match="its function cannot be"):
        Registry.of(odd)
