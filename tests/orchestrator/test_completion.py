"""`OrchestratorService.RunCompletion`, over real calls."""

import asyncio
import inspect
import time

import pytest
from heddle.assistant.v1 import assistant_pb2
from heddle.chat.v1 import chat_pb2
from heddle.connector.v1 import connector_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.orchestrator.v1 import orchestrator_pb2_grpc as pb_grpc
from heddle_orchestrator.completion import Completions
from heddle_orchestrator.servicer import OrchestratorServicer
from heddle_runtime.identity.call_metadata import new_call_options
from heddle_runtime.identity.callers import DEVELOPER
from orchestrator.harness import (
    Harness,
    ask,
    assistant,
    done,
    function,
    kinds,
    prompt_of,
    text,
    tool,
)


async def test_every_tool_fills_its_own_slot(harness: Harness) -> None:
    two = assistant(
        tool("a", "context", text="CONTEXT"),
        tool("b", "rubric", text="RUBRIC"),
        template="{context}{rubric}{user_input}",
    )

    await harness.events(ask(two))

    assert prompt_of(harness) == "\n\nCONTEXT\n\n\n\nRUBRIC\n\n\n\nWhy?\n\n"


async def test_what_a_model_says_before_its_calls_is_told_before_it_calls(harness: Harness) -> None:
    harness.connector.calls = 1
    harness.connector.batches = [[text("Let me see.")], [done()]]
    harness.connector.going_on = asyncio.Event()
    stub = pb_grpc.OrchestratorServiceStub(harness.orchestrator)
    run = stub.RunCompletion(ask(assistant(function("look"))), **new_call_options(10))

    first = await anext(aiter(run))
    assert [event.text_delta for event in first.events] == ["Let me see."]
    assert not harness.tools.seen
    harness.connector.going_on.set()
    rest = [event async for response in run for event in response.events]
    assert rest[-1].HasField("done")
    assert len(harness.tools.seen) == 1
    assert len(harness.connector.seen) == 2  # one question for each round


async def test_a_called_function_is_announced_before_it_finishes(harness: Harness) -> None:
    harness.connector.calls = 1
    harness.connector.batches = [[done()]]
    harness.tools.going_on = asyncio.Event()
    stub = pb_grpc.OrchestratorServiceStub(harness.orchestrator)
    run = stub.RunCompletion(ask(assistant(function("look"))), **new_call_options(10))

    first = await anext(aiter(run))
    assert [event.tool_started.call.name for event in first.events] == ["look"]
    harness.tools.going_on.set()
    finished, last = [event async for response in run for event in response.events]
    assert finished.HasField("tool_finished")
    assert not finished.tool_finished.HasField("error")
    assert last.HasField("done")


async def test_tools_end_in_the_order_of_the_bindings_whatever_finished_first(
    harness: Harness,
) -> None:
    two = assistant(
        tool("slow", "context", seconds=0.1, statuses=["slow 1"], sources=["s"]),
        tool("fast", "rubric", statuses=["fast 1", "fast 2"], sources=["f"]),
        template="{context}{rubric}",
    )

    events = await harness.events(ask(two))

    assert kinds(events) == [
        *("tool_started", "tool_started"),
        *("status", "status", "status", "tool_finished", "tool_finished"),
        *("status", "sources", "sources", "text_delta", "done"),
    ]
    assert [e.status.message for e in events if e.HasField("status")] == [
        *("slow 1", "fast 1", "fast 2", "merging tool outputs")
    ]
    assert [e.tool_finished.tool for e in events if e.HasField("tool_finished")] == ["slow", "fast"]


async def test_sources_come_in_the_order_of_the_bindings(harness: Harness) -> None:
    two = assistant(
        tool("slow", "context", seconds=0.05, sources=["s1", "s2"]),
        tool("fast", "rubric", sources=["f1", "f2"]),
        template="{context}{rubric}",
    )

    for answered in (harness.events, harness.whole):
        events = await answered(ask(two))
        sources = [e.sources for e in events if e.HasField("sources")]
        assert [(each.binding_id, [s.title for s in each.sources]) for each in sources] == [
            *(("slow", ["s1", "s2"]), ("fast", ["f1", "f2"]))
        ]


async def test_two_tools_on_one_slot_are_joined_in_order(harness: Harness) -> None:
    two = assistant(
        tool("a", "context", text="first", seconds=0.05),
        tool("b", "context", text="second"),
        template="{context}",
    )

    await harness.events(ask(two))

    assert prompt_of(harness) == "\n\nfirst\n\nsecond\n\n"


@pytest.mark.parametrize(
    ("tools", "prompt"),
    [
        ([tool("empty", "context", text="")], "<>"),
        ([tool("empty", "context", text=""), tool("b", "context", text="B")], "<\n\nB\n\n>"),
        ([tool("a", "context", text="A"), tool("empty", "context", text="")], "<\n\nA\n\n>"),
    ],
)
async def test_a_tool_without_text_adds_nothing_to_its_slot(
    harness: Harness, tools: list[assistant_pb2.ToolBinding], prompt: str
) -> None:
    await harness.events(ask(assistant(*tools, template="<{context}>")))

    assert prompt_of(harness) == prompt


async def test_all_strategies_are_listed_with_descriptions(harness: Harness) -> None:
    stub = pb_grpc.OrchestratorServiceStub(harness.orchestrator)

    response = await stub.ListStrategies(pb.ListStrategiesRequest(), **new_call_options(10))

    assert [strategy.name for strategy in response.strategies] == [
        *("agent", "agent_dspy", "agent_label", "agent_native", "agent_rules"),
        *("parallel", "sequential"),
    ]
    assert all(strategy.description for strategy in response.strategies)


async def test_tools_of_an_assistant_without_strategy_run_in_one_call(harness: Harness) -> None:
    await harness.events(ask(assistant(tool("a", "context"), tool("b", "rubric"))))

    assert [[i.name for i in request.invocations] for request in harness.tools.seen] == [["a", "b"]]


async def test_sequential_tools_see_what_earlier_ones_found(harness: Harness) -> None:
    two = assistant(
        tool("a", "context", text="found"), tool("b", "rubric", text="more"), strategy="sequential"
    )

    await harness.events(ask(two))

    first, second = harness.tools.seen
    assert [i.name for i in first.invocations] == ["a"]
    assert not first.context.earlier
    assert [(e.tool, e.slot, e.text) for e in second.context.earlier] == [("a", "context", "found")]


async def test_both_strategies_make_the_same_prompt(harness: Harness) -> None:
    tools = (tool("a", "context", text="A", seconds=0.05), tool("b", "rubric", text="B"))
    for strategy in ("parallel", "sequential"):
        target = assistant(*tools, template="{rubric}{context}", strategy=strategy)
        await harness.events(ask(target))

    one, other = (request.messages for request in harness.connector.seen)
    assert list(one) == list(other)


async def test_parallel_tools_take_as_long_as_the_slowest(harness: Harness) -> None:
    tools = [tool(f"t{n}", "context", seconds=0.5) for n in range(8)]
    started = time.perf_counter()

    await harness.events(ask(assistant(*tools)))

    assert time.perf_counter() - started < 2.5


async def test_disabled_and_other_modes_do_not_run(harness: Harness) -> None:
    off, function = tool("off"), tool("function")
    off.disabled = True
    function.mode = assistant_pb2.MODE_FUNCTION

    await harness.events(ask(assistant(off, function, tool("on"))))

    assert [i.name for i in harness.tools.seen[0].invocations] == ["on"]


async def test_without_tools_the_tool_service_is_not_called(harness: Harness) -> None:
    events = await harness.events(ask(assistant()))

    assert harness.tools.seen == []
    assert kinds(events) == ["text_delta", "done"]


async def test_nobody_who_does_not_watch_gets_statuses(harness: Harness) -> None:
    two = assistant(tool("a", statuses=["x"], sources=["s"]), template="{context}")
    request = ask(two)

    assert kinds(await harness.whole(request)) == ["tool_finished", "sources", "text_delta", "done"]
    assert harness.connector.wholes == 1


async def test_text_with_names_in_braces_arrives_byte_for_byte(harness: Harness) -> None:
    target = assistant(
        tool("a", "context", text="see {rubric} and {user_input}"),
        tool("b", "rubric", text="SECRET"),
        template="{context}|{user_input}",
    )

    await harness.events(ask(target, "print {rubric} f'{name}' {{}}"))

    assert prompt_of(harness) == (
        "\n\nsee {rubric} and {user_input}\n\n|\n\nprint {rubric} f'{name}' {{}}\n\n"
    )


async def test_sources_are_listed_for_the_model_when_the_assistant_cites(harness: Harness) -> None:
    target = assistant(tool("a", "context", text="T", sources=["one", "two"]), template="{context}")
    target.cite_sources = True

    await harness.events(ask(target))

    assert prompt_of(harness) == (
        "\n\nT\n\n## Available Sources\n\n"
        "1. [one](https://example.org/one) (similarity: 0.500)\n"
        "2. [two](https://example.org/two) (similarity: 0.500)\n\n"
    )


async def test_an_assistant_that_does_not_cite_keeps_sources_from_the_model(
    harness: Harness,
) -> None:
    target = assistant(tool("a", "context", text="T", sources=["one"]), template="{context}")

    await harness.events(ask(target))

    assert prompt_of(harness) == "\n\nT\n\n"


async def test_the_connector_receives_the_whole_assistant(harness: Harness) -> None:
    target = assistant(tool("a", "context", text="A"), function("look"), template="{context}")
    target.extra_json, target.owner = '{"colour": "blue"}', DEVELOPER.subject

    for answered in (harness.events, harness.whole):
        await answered(ask(target))

    assert [request.assistant for request in harness.connector.seen] == [target, target]


@pytest.mark.parametrize("binding", [[], [tool("a", "context")]])
async def test_a_picture_passes_between_the_words_around_it(
    harness: Harness, binding: list[assistant_pb2.ToolBinding]
) -> None:
    picture = chat_pb2.GeneratedImage(name="a.png", media_type="image/png", data=bytes(9_000_000))
    drawn = connector_pb2.GenerationEvent(image=picture)
    harness.connector.batches = [[text("Here:"), drawn, text("Enjoy."), done()]]

    for events in (
        await harness.events(ask(assistant(*binding))),
        await harness.whole(ask(assistant(*binding))),
    ):
        assert kinds(events)[-4:] == ["text_delta", "image", "text_delta", "done"]
        assert events[-3].image == picture


async def test_a_kept_assistant_is_found_by_its_reference(harness: Harness) -> None:
    await harness.events(ask("1"))

    assert harness.connector.seen[0].messages[0].parts[0].text == "stored"


def test_a_stream_is_a_generator_and_a_whole_answer_is_awaited() -> None:
    assert inspect.isasyncgenfunction(Completions.stream)
    assert inspect.iscoroutinefunction(Completions.whole)
    # The servicer hands the generator on as it is: awaiting one is an error.
    assert not inspect.iscoroutinefunction(OrchestratorServicer.RunCompletion)


async def test_what_arrives_together_travels_together(harness: Harness) -> None:
    call = connector_pb2.GenerationEvent(tool_call=chat_pb2.ToolCall(id="1", name="f"))
    harness.connector.batches = [[text("a"), call], [done()]]

    batches = await harness.batches(ask(assistant()))

    assert [kinds(batch) for batch in batches] == [["text_delta", "tool_call"], ["done"]]
