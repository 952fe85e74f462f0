"""What a run reports about its tools: progress, failures, empty results and sources."""

import asyncio

import pytest
from heddle.assistant.v1 import assistant_pb2
from heddle.chat.v1 import chat_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.orchestrator.v1 import orchestrator_pb2_grpc as pb_grpc
from heddle_runtime.identity.call_metadata import new_call_options
from orchestrator.harness import (
    Harness,
    ask,
    assistant,
    done,
    function,
    kinds,
    orchestrating,
    prompt_of,
    text,
    tool,
)

NO_SLOT = "has a result, but the prompt has no place for it"
EMPTY = "I do not know."


def finished(events: list[pb.RunEvent]) -> dict[str, pb.ToolFinished]:
    return {e.tool_finished.tool: e.tool_finished for e in events if e.HasField("tool_finished")}


def answer(events: list[pb.RunEvent]) -> str:
    return "".join(event.text_delta for event in events)


def system_prompt(harness: Harness) -> str:
    first = harness.connector.seen[-1].messages[0]
    return first.parts[0].text if first.role == chat_pb2.ROLE_SYSTEM else ""


async def test_a_status_of_a_later_tool_does_not_wait_for_an_earlier_one(harness: Harness) -> None:
    two = assistant(
        tool("slow", "context", statuses=["slow"]),
        tool("fast", "rubric", statuses=["fast"]),
        template="{context}{rubric}",
    )
    harness.tools.going_on = asyncio.Event()
    stub = pb_grpc.OrchestratorServiceStub(harness.orchestrator)
    responses = aiter(stub.RunCompletion(ask(two), **new_call_options(10)))

    statuses: set[str] = set()
    while len(statuses) < 2:
        response = await anext(responses)
        statuses |= {e.status.message for e in response.events if e.HasField("status")}
    assert statuses == {"slow", "fast"}
    harness.tools.going_on.set()
    assert [e async for r in responses for e in r.events][-1].HasField("done")


async def test_a_failed_tool_reports_how_long_it_ran(harness: Harness) -> None:
    events = await harness.events(
        ask(assistant(tool("a", "context", seconds=0.2, fail=True), template="{context}"))
    )

    elapsed = finished(events)["a"].elapsed.ToTimedelta().total_seconds()
    assert 0.2 <= elapsed < 5


async def test_a_template_without_the_slot_of_a_tool_is_reported(harness: Harness) -> None:
    target = assistant(
        tool("rubric", "rubric", text="R", sources=["s"]),
        template="{user_input}",
        system_prompt="Be kind.",
    )

    for answered in (harness.events, harness.whole):
        events = await answered(ask(target))

        [warning] = finished(events)["rubric"].warnings
        assert "has no {rubric}" in warning
        assert system_prompt(harness).startswith("Be kind.\n\n")
        assert NO_SLOT in system_prompt(harness)
        assert prompt_of(harness) == "\n\nWhy?\n\n"
        assert not any(event.HasField("sources") for event in events)


async def test_a_tool_that_returns_nothing_needs_no_slot(harness: Harness) -> None:
    events = await harness.events(ask(assistant(tool("a", text=""), template="{user_input}")))

    assert not finished(events)["a"].warnings
    assert not system_prompt(harness)


@pytest.mark.parametrize("slot", ["rubric", "user_input"])
async def test_the_note_of_a_failed_tool_without_a_slot_reaches_the_model(
    harness: Harness, slot: str
) -> None:
    await harness.events(ask(assistant(tool("a", slot, fail=True), template="{user_input}")))

    assert "The tool a failed: The library is closed." in system_prompt(harness)
    assert prompt_of(harness) == "\n\nWhy?\n\n"


async def test_without_a_template_the_conversation_is_unchanged(harness: Harness) -> None:
    events = await harness.events(ask(assistant(tool("a", "context", text="A", sources=["s"]))))

    assert prompt_of(harness) == "Why?"
    assert not system_prompt(harness)
    assert finished(events)["a"].warnings
    assert not any(event.HasField("sources") for event in events)


async def test_the_number_of_results_of_a_search_is_reported(harness: Harness) -> None:
    target = assistant(
        tool("none", "context", count=0, text="Nothing."),
        tool("two", "rubric", count=2, text="Two."),
        tool("other", "file", text="File."),
        template="{context}{rubric}{file}",
    )

    for answered in (harness.events, harness.whole):
        ended = finished(await answered(ask(target)))
        assert (ended["none"].result_count, ended["two"].result_count) == (0, 2)
        assert ended["none"].HasField("result_count")
        assert not ended["other"].HasField("result_count")
    assert prompt_of(harness) == "\n\nNothing.\n\n\n\nTwo.\n\n\n\nFile.\n\n"


def searching(*tools: assistant_pb2.ToolBinding) -> assistant_pb2.Assistant:
    target = assistant(*tools, template="{context}{user_input}")
    target.empty_response = EMPTY
    return target


async def test_an_assistant_can_answer_without_the_model_if_there_are_no_results(
    harness: Harness,
) -> None:
    target = searching(
        tool("a", "context", count=0, text="No passages."), tool("b", "context", text="")
    )

    for answered in (harness.events, harness.whole):
        events = await answered(ask(target))
        assert answer(events) == EMPTY
        assert events[-1].done.finish_reason == chat_pb2.FINISH_REASON_STOP
    target.empty_response = "auto"
    assert answer(await harness.events(ask(target))).startswith("I found nothing about this")
    assert not harness.connector.seen


@pytest.mark.parametrize(
    "tools",
    [
        (tool("a", "context", count=1, text="A"),),
        (tool("a", "context", count=0), tool("b", "context", text="A file.")),
        (tool("a", "context", count=0), tool("b", "context", fail=True)),
        (tool("a", "context", count=0, warnings=["kb-2 is down"]),),
        (tool("a", "context", count=0), function("look")),
        (tool("a", "context", text=""),),
        (),
    ],
    ids=["results", "file", "failed", "failed in part", "functions", "no search", "no tools"],
)
async def test_the_model_answers_unless_searches_are_empty(
    harness: Harness, tools: tuple[assistant_pb2.ToolBinding, ...]
) -> None:
    assert answer(await harness.events(ask(searching(*tools)))) == "Hello"


async def test_sources_of_called_functions_follow_their_results(harness: Harness) -> None:
    harness.connector.calls = 1
    harness.connector.batches = [[text("x"), done()]]

    for answered in (harness.events, harness.whole):
        events = await answered(ask(assistant(function("look", text="T", sources=["s"]))))
        order = [kind for kind in kinds(events) if kind in ("tool_finished", "sources")]
        assert order == ["tool_finished", "sources"]
        harness.connector.seen.clear()


async def test_sources_whose_text_is_cut_off_are_left_out() -> None:
    async with orchestrating(max_prompt_chars=200) as harness:
        harness.connector.calls = 1
        long = {"text": f"one {'x' * 300} two", "sources": ["one", "two"]}

        events = await harness.events(ask(assistant(function("look", **long))))

    [sources] = [event.sources for event in events if event.HasField("sources")]
    assert [each.title for each in sources.sources] == ["one"]


@pytest.mark.parametrize(("kind", "runs"), [("fail", 2), ("refuse", 1)])
async def test_a_call_that_would_fail_again_is_not_repeated(
    harness: Harness, kind: str, runs: int
) -> None:
    harness.connector.calls = 2

    events = await harness.events(ask(assistant(function("look", **{kind: True}))))

    assert len(harness.tools.seen) == runs
    last = [event.tool_finished for event in events if event.HasField("tool_finished")][-1]
    assert ("would fail again" in last.error.message) is (runs == 1)
