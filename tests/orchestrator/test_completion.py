"""`OrchestratorService.RunCompletion`, over real calls."""

import asyncio
import inspect
import time

import grpc
import pytest
from heddle.assistant.v1 import assistant_pb2
from heddle.chat.v1 import chat_pb2
from heddle.connector.v1 import connector_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.orchestrator.v1 import orchestrator_pb2_grpc as pb_grpc
from heddle_orchestrator.completion import Completions
from heddle_orchestrator.servicer import OrchestratorServicer
from heddle_runtime.calls import outgoing
from heddle_runtime.errors import (
    HeddleError,
    InvalidRequestError,
    NotFoundError,
    ProviderGarbledError,
    UnavailableError,
    from_rpc,
    from_status,
)
from orchestrator.bench import Bench, ask, assistant, done, function, kinds, text, tool


def prompt_of(bench: Bench) -> str:
    return bench.connector.seen[-1].messages[-1].parts[0].text


async def test_every_tool_fills_its_own_slot(bench: Bench) -> None:
    two = assistant(
        tool("a", "context", text="CONTEXT"),
        tool("b", "rubric", text="RUBRIC"),
        template="{context}{rubric}{user_input}",
    )

    await bench.events(ask(two))

    assert prompt_of(bench) == "\n\nCONTEXT\n\n\n\nRUBRIC\n\n\n\nWhy?\n\n"


async def test_what_a_model_says_before_its_calls_is_told_before_it_calls(bench: Bench) -> None:
    bench.connector.calls = 1
    bench.connector.batches = [[text("Let me see.")], [done()]]
    bench.connector.going_on = asyncio.Event()
    stub = pb_grpc.OrchestratorServiceStub(bench.orchestrator)
    run = stub.RunCompletion(ask(assistant(function("look"))), **outgoing(10))

    first = await anext(aiter(run))
    assert [event.text_delta for event in first.events] == ["Let me see."]
    assert not bench.tools.seen
    bench.connector.going_on.set()
    rest = [event async for response in run for event in response.events]
    assert rest[-1].HasField("done")
    assert len(bench.tools.seen) == 1
    assert len(bench.connector.seen) == 2  # one question for each round


async def test_events_come_in_the_order_of_the_bindings_whatever_finished_first(
    bench: Bench,
) -> None:
    two = assistant(
        tool("slow", "context", seconds=0.1, statuses=["slow 1"], sources=["s"]),
        tool("fast", "rubric", statuses=["fast 1", "fast 2"], sources=["f"]),
        template="{context}{rubric}",
    )

    events = await bench.events(ask(two))

    assert kinds(events) == [
        *("tool_started", "tool_started"),
        *("status", "sources", "tool_finished"),
        *("status", "status", "sources", "tool_finished"),
        *("status", "text_delta", "done"),
    ]
    assert [e.status.message for e in events if e.HasField("status")] == [
        *("slow 1", "fast 1", "fast 2", "merging tool outputs")
    ]
    assert [e.tool_finished.tool for e in events if e.HasField("tool_finished")] == ["slow", "fast"]


async def test_two_tools_on_one_slot_are_joined_in_order(bench: Bench) -> None:
    two = assistant(
        tool("a", "context", text="first", seconds=0.05),
        tool("b", "context", text="second"),
        template="{context}",
    )

    await bench.events(ask(two))

    assert prompt_of(bench) == "\n\nfirst\n\nsecond\n\n"


async def test_a_failing_tool_is_told_and_ends_nothing(bench: Bench) -> None:
    two = assistant(
        tool("bad", fail=True), tool("good", "rubric", text="RUBRIC"), template="{context}{rubric}"
    )

    events = await bench.events(ask(two))

    finished = next(e.tool_finished for e in events if e.HasField("tool_finished"))
    failure = from_status(finished.error)
    assert isinstance(failure, UnavailableError)
    assert failure.message == "The library is closed."
    assert "[The tool bad failed: The library is closed." in prompt_of(bench)
    assert "RUBRIC" in prompt_of(bench)
    assert kinds(events)[-1] == "done"


@pytest.mark.parametrize(
    ("policy", "told"),
    [(assistant_pb2.FAILURE_POLICY_OMIT, False), (assistant_pb2.FAILURE_POLICY_NOTE, True)],
)
async def test_the_binding_says_whether_the_model_learns_of_a_failure(
    bench: Bench,
    policy: "assistant_pb2.FailurePolicy.ValueType",
    told: bool,
) -> None:
    binding = tool("bad", fail=True)
    binding.on_failure = policy

    await bench.events(ask(assistant(binding, template="<{context}>")))

    assert (prompt_of(bench) != "<>") is told


async def test_a_tool_that_must_not_fail_ends_the_call_with_its_own_error(bench: Bench) -> None:
    binding = tool("bad", fail=True)
    binding.on_failure = assistant_pb2.FAILURE_POLICY_FAIL

    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await bench.events(ask(assistant(binding)))

    assert from_rpc(caught.value).message == "The library is closed."
    assert bench.connector.seen == []


async def test_sequential_tools_see_what_earlier_ones_found(bench: Bench) -> None:
    two = assistant(
        tool("a", "context", text="found"), tool("b", "rubric", text="more"), strategy="sequential"
    )

    await bench.events(ask(two))

    first, second = bench.tools.seen
    assert [i.name for i in first.invocations] == ["a"]
    assert not first.context.earlier
    assert [(e.tool, e.slot, e.text) for e in second.context.earlier] == [("a", "context", "found")]


async def test_both_strategies_make_the_same_prompt(bench: Bench) -> None:
    tools = (tool("a", "context", text="A", seconds=0.05), tool("b", "rubric", text="B"))
    for strategy in ("parallel", "sequential"):
        target = assistant(*tools, template="{rubric}{context}", strategy=strategy)
        await bench.events(ask(target))

    one, other = (request.messages for request in bench.connector.seen)
    assert list(one) == list(other)


async def test_parallel_tools_take_as_long_as_the_slowest(bench: Bench) -> None:
    tools = [tool(f"t{n}", "context", seconds=0.5) for n in range(8)]
    started = time.perf_counter()

    await bench.events(ask(assistant(*tools)))

    assert time.perf_counter() - started < 2.5


async def test_disabled_and_other_modes_do_not_run(bench: Bench) -> None:
    off, function = tool("off"), tool("function")
    off.disabled = True
    function.mode = assistant_pb2.MODE_FUNCTION

    await bench.events(ask(assistant(off, function, tool("on"))))

    assert [i.name for i in bench.tools.seen[0].invocations] == ["on"]


async def test_without_tools_the_tool_service_is_not_called(bench: Bench) -> None:
    events = await bench.events(ask(assistant()))

    assert bench.tools.seen == []
    assert kinds(events) == ["text_delta", "done"]


async def test_nobody_who_does_not_watch_gets_statuses(bench: Bench) -> None:
    request = ask(assistant(tool("a", statuses=["x"], sources=["s"])))

    assert kinds(await bench.whole(request)) == ["sources", "tool_finished", "text_delta", "done"]
    assert bench.connector.wholes == 1


async def test_a_whole_answer_that_is_cut_off_is_an_error(bench: Bench) -> None:
    bench.connector.batches = [[text("half of")]]

    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await bench.whole(ask(assistant()))

    failure = from_rpc(caught.value)
    assert isinstance(failure, ProviderGarbledError)
    assert "tools_ran" not in failure.metadata


async def test_text_with_names_in_braces_arrives_byte_for_byte(bench: Bench) -> None:
    target = assistant(
        tool("a", "context", text="see {rubric} and {user_input}"),
        tool("b", "rubric", text="SECRET"),
        template="{context}|{user_input}",
    )

    await bench.events(ask(target, "print {rubric} f'{name}' {{}}"))

    assert prompt_of(bench) == (
        "\n\nsee {rubric} and {user_input}\n\n|\n\nprint {rubric} f'{name}' {{}}\n\n"
    )


async def test_sources_are_listed_for_the_model_when_the_assistant_cites(bench: Bench) -> None:
    target = assistant(tool("a", "context", text="T", sources=["one", "two"]), template="{context}")
    target.cite_sources = True

    await bench.events(ask(target))

    assert prompt_of(bench) == (
        "\n\nT\n\n## Available Sources\n\n"
        "1. [one](https://example.org/one) (similarity: 0.500)\n"
        "2. [two](https://example.org/two) (similarity: 0.500)\n\n"
    )


async def test_a_trace_shows_lengths_instead_of_what_tools_found(bench: Bench) -> None:
    target = assistant(
        tool("a", "context", text="found it", api_key="sk-abcdefghijklmnopqrstuvwx"),
        template="{context} {user_input}",
    )
    request = ask(target, "mail ann@example.org")
    request.include_trace = True

    events = await bench.events(request)

    assert kinds(events)[-2:] == ["trace", "done"]
    trace = events[-2].trace
    assert trace.prompt[0].parts[0].text == "\n\n[a: 8 characters]\n\n \n\nmail [redacted]\n\n"
    assert [(s.name, s.output_chars) for s in trace.steps] == [("a", 8), ("model", 5)]
    assert "sk-abc" not in str(trace)
    assert "found it" not in str(trace.prompt)


@pytest.mark.parametrize("reason", ["PROVIDER_REFUSED", ""])
async def test_a_replaced_model_is_told_and_traced(bench: Bench, reason: str) -> None:
    told = chat_pb2.ModelReplaced(wanted="scripted/m", used="scripted/n", reason=reason)
    replaced = connector_pb2.GenerationEvent(model_replaced=told)
    bench.connector.batches = [[replaced, text("Hello")], [done()]]
    request = ask(assistant())
    request.include_trace = True
    for events in (await bench.events(request), await bench.whole(request)):
        assert kinds(events) == ["model_replaced", "text_delta", "trace", "done"]
        assert events[0].model_replaced == told
        steps = [(step.name, step.error_reason) for step in events[-2].trace.steps]
        assert steps == [("model", reason or "NOT_FOUND"), ("model", "")]


@pytest.mark.parametrize("binding", [[], [tool("a", "context")]])
async def test_a_picture_passes_between_the_words_around_it(
    bench: Bench, binding: list[assistant_pb2.ToolBinding]
) -> None:
    picture = chat_pb2.Picture(name="a.png", media_type="image/png", data=bytes(9_000_000))
    drawn = connector_pb2.GenerationEvent(picture=picture)
    bench.connector.batches = [[text("Here:"), drawn, text("Enjoy."), done()]]

    for events in (
        await bench.events(ask(assistant(*binding))),
        await bench.whole(ask(assistant(*binding))),
    ):
        assert kinds(events)[-4:] == ["text_delta", "picture", "text_delta", "done"]
        assert events[-3].picture == picture


async def test_a_verbose_assistant_traces_without_being_asked(bench: Bench) -> None:
    target = assistant()
    target.verbose = True

    assert kinds(await bench.events(ask(target)))[-2:] == ["trace", "done"]


async def test_a_kept_assistant_is_found_by_its_reference(bench: Bench) -> None:
    await bench.events(ask("1"))

    assert bench.connector.seen[0].messages[0].parts[0].text == "kept"


@pytest.mark.parametrize(
    ("request_", "expected", "names"),
    [
        (ask("nobody"), NotFoundError, "nobody"),
        (pb.RunCompletionRequest(), InvalidRequestError, "messages"),
        (ask(assistant(strategy="magic")), InvalidRequestError, "parallel, sequential"),
        (
            ask(assistant(tool("a"), assistant_pb2.ToolBinding(id="a", tool="b"), template="x")),
            None,
            "",
        ),
        (
            ask(
                assistant(
                    assistant_pb2.ToolBinding(id="x", tool="a"),
                    assistant_pb2.ToolBinding(id="x", tool="b"),
                )
            ),
            InvalidRequestError,
            "'x'",
        ),
    ],
)
async def test_a_wrong_request_is_told_what_is_wrong(
    bench: Bench, request_: pb.RunCompletionRequest, expected: type[HeddleError] | None, names: str
) -> None:
    if expected is None:
        assert kinds(await bench.events(request_))[-1] == "done"
        return
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await bench.events(request_)

    error = from_rpc(caught.value)
    assert type(error) is expected
    assert names in error.message + "".join(v.field + v.description for v in error.violations)


async def test_a_call_without_a_deadline_is_refused(bench: Bench) -> None:
    stub = pb_grpc.OrchestratorServiceStub(bench.orchestrator)

    with pytest.raises(grpc.aio.AioRpcError) as caught:
        [response async for response in stub.RunCompletion(ask(assistant()))]

    assert isinstance(from_rpc(caught.value), InvalidRequestError)


async def test_an_answer_that_is_cut_off_is_an_error(bench: Bench) -> None:
    bench.connector.batches = [[text("half of")]]

    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await bench.events(ask(assistant()))

    assert isinstance(from_rpc(caught.value), ProviderGarbledError)


async def test_a_whole_answer_that_fails_after_its_tools_says_that_they_ran(bench: Bench) -> None:
    bench.connector.batches = [[text("half of")]]

    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await bench.whole(ask(assistant(tool("a"))))

    assert from_rpc(caught.value).metadata["tools_ran"] == "true"


def test_a_stream_is_a_generator_and_a_whole_answer_is_awaited() -> None:
    assert inspect.isasyncgenfunction(Completions.stream)
    assert inspect.iscoroutinefunction(Completions.whole)
    # The servicer hands the generator on as it is: awaiting one is an error.
    assert not inspect.iscoroutinefunction(OrchestratorServicer.RunCompletion)


async def test_what_arrives_together_travels_together(bench: Bench) -> None:
    call = connector_pb2.GenerationEvent(tool_call=chat_pb2.ToolCall(id="1", name="f"))
    bench.connector.batches = [[text("a"), call], [done()]]

    batches = await bench.batches(ask(assistant()))

    assert [kinds(batch) for batch in batches] == [["text_delta", "tool_call"], ["done"]]


async def test_a_slow_tool_leaves_time_for_the_model(bench: Bench) -> None:
    slow = assistant(tool("hangs", "context", seconds=60), template="{context}")
    started = time.perf_counter()

    batches = await bench.batches(ask(slow), timeout=2)

    assert time.perf_counter() - started < 2
    assert kinds(batches[-1])[-1] == "done"


async def test_tools_stop_when_the_client_goes_away(bench: Bench) -> None:
    stub = pb_grpc.OrchestratorServiceStub(bench.orchestrator)
    request = ask(assistant(tool("slow", seconds=60)))
    call = stub.RunCompletion(request, **outgoing(30))
    await anext(aiter(call))
    await asyncio.sleep(0.1)

    call.cancel()

    assert await asyncio.wait_for(bench.tools.cancelled.wait(), 2)


@pytest.mark.parametrize("slow", ["the functions", "the assistant"])
async def test_who_has_little_time_does_not_spoil_it_for_others(bench: Bench, slow: str) -> None:
    bench.kept.tools = [function("look")]
    gate = asyncio.Event()
    if slow == "the functions":
        bench.tools.listing = gate
    else:
        bench.kept.reading = gate
    hasty = asyncio.create_task(bench.batches(ask("1"), timeout=1.5))
    while not (bench.tools.listed if slow == "the functions" else bench.kept.reads):
        await asyncio.sleep(0.01)
    patient = asyncio.create_task(bench.events(ask("1")))
    with pytest.raises(grpc.aio.AioRpcError) as failure:
        await hasty
    assert failure.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    gate.set()

    events = await patient
    assert "tool_finished" not in kinds(events)  # which would tell that nothing is offered
    assert [each.name for each in bench.connector.seen[-1].functions] == ["look"]
    assert (bench.kept.reads, bench.tools.listed) == (1, 1)
