"""What tools say and find, over real calls: too long, too large, or no text."""

import pytest
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.errors import ToolFailedError
from heddle_runtime.redaction import register_secrets
from heddle_tools_service.sdk import Source, ToolCall, ToolConfig, ToolError, ToolResult, tool
from pydantic import BaseModel, SecretStr
from tools_service.ordinary_tools import failing, nap
from tools_service.serving import invocation, outcome, serving_tools, text_of


async def test_statuses_are_one_line_short_and_without_secrets() -> None:
    @tool("chatty", title="Chatty")
    async def chatty(call: ToolCall[ToolConfig]) -> ToolResult:
        """Says too much."""
        call.status("key sk-abcdefghijklmnop1234\nand more")
        call.status("x" * 5_000)
        for number in range(10_000):
            call.status(str(number))
        return ToolResult("")

    async with serving_tools(chatty) as client:
        statuses, _ = await client.run("chatty")

    assert statuses[0] == "key [redacted] and more"
    assert len(statuses[1]) == 300
    assert len(statuses) == 200


class Keys(BaseModel):
    key: SecretStr


async def test_no_result_contains_a_registered_secret() -> None:
    keys = Keys(key=SecretStr("magpie-river-99"))
    register_secrets(keys)

    @tool("open", title="Open")
    async def tells(call: ToolCall[ToolConfig]) -> ToolResult:
        """Tells everything."""
        key = keys.key.get_secret_value()
        call.status(f"asking with {key}")
        source = Source(key, f"https://x.example/?t={key}", excerpt=key, attributes={"a": key})
        return ToolResult(
            f"password=hunter2 and {key}",
            [source],
            {"url": f"https://x.example/{key}"},
            warnings=[f"sent {key}"],
        )

    async with serving_tools(tells) as client:
        statuses, result = await client.run("open")

    assert "magpie" not in f"{statuses} {result}"
    assert text_of(result) == "password=hunter2 and [redacted]"  # a passage may contain examples


async def test_too_much_output_is_cut_and_told() -> None:
    @tool("flood", title="Flood")
    async def flood(_: object) -> ToolResult:
        """Finds everything."""
        sources = [Source("s" * 10_000, attributes={"n": "v" * 10_000})] * 1_000
        return ToolResult("é" * 3_000_000, sources, {"big": 2**60}, slot="../x")

    async with serving_tools(flood) as client:
        _, result = await client.run("flood")

    assert len(text_of(result)) == 400_000
    assert len(result.sources) == 200
    assert len(result.sources[0].title) == 4_000
    assert list(result.warnings) == [
        "The slot that the tool named is not valid; the tool's default slot was filled.",
        "The output was cut from 3,000,000 to 400,000 characters.",
        "The tool's metadata is not plain JSON and was left out.",
    ]
    assert result.slot == "context"


@pytest.mark.parametrize(
    ("found", "warning"),
    [
        (
            ToolResult("found", metadata={"all": ["x" * 1_000] * 40_000}),
            "The tool's metadata has more than 400,000 bytes and was left out.",
        ),
        (
            ToolResult(
                "found", [Source("s", attributes={str(n): "x" * 4_000 for n in range(200)})] * 50
            ),
            "46 of the tool's sources were left out: they are too large.",
        ),
    ],
)
async def test_what_is_too_large_around_a_text_is_left_out_and_told(
    found: ToolResult, warning: str
) -> None:
    @tool("verbose", title="Verbose")
    async def verbose(_: object) -> ToolResult:
        """Finds a little, and tells a lot of it."""
        return found

    async with serving_tools(verbose) as client:
        _, result = await client.run("verbose")

    assert text_of(result) == "found"
    assert list(result.warnings) == [warning]


async def test_results_that_are_large_together_arrive_all_the_same() -> None:
    @tool("long", title="Long")
    async def long(_: object) -> ToolResult:
        """Finds as much as it may."""
        return ToolResult("€" * 400_000)

    many = [invocation(str(number), "long") for number in range(32)]
    async with serving_tools(long) as client:
        events = await client.run_all(many)

    for number in range(32):
        told = outcome(events, str(number))
        assert isinstance(told, pb.ToolResult)
        assert len(text_of(told)) == 400_000


async def test_half_a_character_breaks_neither_the_result_nor_what_is_told_of_it() -> None:
    @tool("half", title="Half")
    async def half(call: ToolCall[ToolConfig]) -> ToolResult:
        """Finds half of a surrogate pair."""
        call.status("reading \ud800")
        return ToolResult("a\ud800b", message="found \ud800")

    async with serving_tools(half) as client:
        statuses, result = await client.run("half")

    assert statuses == ["reading \ufffd"]
    assert text_of(result) == "a\ufffdb"
    assert result.message == "found \ufffd"


async def test_half_a_character_in_a_failure_disturbs_no_other_tool() -> None:
    broken = failing(lambda: ToolError("No city \ud83d"))
    async with serving_tools(nap, broken) as client:
        events = await client.run_all([invocation("good", "nap"), invocation("bad", "broken")])

    assert isinstance(outcome(events, "good"), pb.ToolResult)
    bad = outcome(events, "bad")
    assert isinstance(bad, ToolFailedError)
    assert bad.message == "No city \ufffd"
