"""`OrchestratorService.RunCompletion` where something is wrong, slow or given up."""

import asyncio
import time

import grpc
import pytest
from google.protobuf import duration_pb2
from heddle.assistant.v1 import assistant_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.orchestrator.v1 import orchestrator_pb2_grpc as pb_grpc
from heddle_orchestrator.completion import with_tools_ran
from heddle_runtime.errors import (
    HeddleError,
    InvalidRequestError,
    NotFoundError,
    ProviderGarbledError,
    UnavailableError,
    from_rpc,
    from_status,
)
from heddle_runtime.identity.call_metadata import new_call_options
from orchestrator.harness import (
    Harness,
    ask,
    assistant,
    function,
    kinds,
    orchestrating,
    prompt_of,
    text,
    tool,
)
from structlog.testing import capture_logs


async def test_a_failing_tool_is_told_and_ends_nothing(harness: Harness) -> None:
    two = assistant(
        tool("bad", fail=True), tool("good", "rubric", text="RUBRIC"), template="{context}{rubric}"
    )

    events = await harness.events(ask(two))

    finished = next(e.tool_finished for e in events if e.HasField("tool_finished"))
    failure = from_status(finished.error)
    assert isinstance(failure, UnavailableError)
    assert failure.message == "The library is closed."
    assert "[The tool bad failed: The library is closed." in prompt_of(harness)
    assert "RUBRIC" in prompt_of(harness)
    assert kinds(events)[-1] == "done"


async def test_an_answer_that_lost_a_tool_is_logged_streamed_and_whole(harness: Harness) -> None:
    two = assistant(tool("bad", fail=True), tool("good"), template="{context}")
    for answer in (harness.events, harness.whole):
        with capture_logs() as logs:
            await answer(ask(two))
        (line,) = [each for each in logs if each["event"] == "answer without a tool"]
        assert (line["tool"], line["log_level"]) == ("bad", "warning")
        assert line["error"] == "The library is closed."


@pytest.mark.parametrize(
    ("policy", "noted"),
    [(assistant_pb2.FAILURE_POLICY_OMIT, False), (assistant_pb2.FAILURE_POLICY_NOTE, True)],
)
async def test_the_binding_says_whether_the_model_learns_of_a_failure(
    harness: Harness,
    policy: "assistant_pb2.FailurePolicy.ValueType",
    noted: bool,
) -> None:
    binding = tool("bad", fail=True)
    binding.on_failure = policy

    await harness.events(ask(assistant(binding, template="<{context}>")))

    assert (prompt_of(harness) != "<>") is noted


async def test_functions_that_cannot_be_listed_fail_and_the_model_answers(
    harness: Harness,
) -> None:
    harness.tools.refusal = UnavailableError("The library is closed.")

    for answered in (harness.events, harness.whole):
        events = await answered(ask(assistant(function("look"), function("count"))))
        assert kinds(events) == ["tool_finished", "tool_finished", "text_delta", "done"]
        finished = [event.tool_finished for event in events[:2]]
        assert [each.tool for each in finished] == ["look", "count"]
        assert {from_status(each.error).message for each in finished} == {"The library is closed."}
        assert not harness.connector.seen[-1].functions


async def test_a_tool_that_must_not_fail_ends_the_call_with_its_own_error(harness: Harness) -> None:
    binding = tool("bad", fail=True)
    binding.on_failure = assistant_pb2.FAILURE_POLICY_FAIL

    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await harness.events(ask(assistant(binding)))

    assert from_rpc(caught.value).message == "The library is closed."
    assert harness.connector.seen == []


async def test_a_whole_answer_that_is_cut_off_is_an_error(harness: Harness) -> None:
    harness.connector.batches = [[text("half of")]]

    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await harness.whole(ask(assistant()))

    failure = from_rpc(caught.value)
    assert isinstance(failure, ProviderGarbledError)
    assert "tools_ran" not in failure.metadata


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
    harness: Harness,
    request_: pb.RunCompletionRequest,
    expected: type[HeddleError] | None,
    names: str,
) -> None:
    if expected is None:
        assert kinds(await harness.events(request_))[-1] == "done"
        return
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await harness.events(request_)

    error = from_rpc(caught.value)
    assert type(error) is expected
    assert names in error.message + "".join(v.field + v.description for v in error.violations)


@pytest.mark.parametrize("wishes", ["[1]", "{", "null", '{"\\ud800": 1}'])
async def test_wrong_wishes_about_functions_are_the_clients_fault(
    harness: Harness, wishes: str
) -> None:
    request = ask(assistant(function("look")))
    request.options.extra_json = wishes
    for answered in (harness.events, harness.whole):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await answered(request)
        failure = from_rpc(caught.value)
        assert isinstance(failure, InvalidRequestError)
        assert [each.field for each in failure.violations] == ["options.extra_json"]


@pytest.mark.parametrize("seconds", [10**14, 10**18])
async def test_a_tool_may_be_given_more_time_than_there_is(harness: Harness, seconds: int) -> None:
    binding = tool("a", "context", text="found")
    binding.timeout.seconds = seconds
    assert kinds(await harness.events(ask(assistant(binding, template="{context}"))))[-1] == "done"
    assert harness.tools.seen[0].invocations[0].timeout.seconds < 100


async def test_a_call_without_a_deadline_is_refused(harness: Harness) -> None:
    stub = pb_grpc.OrchestratorServiceStub(harness.orchestrator)

    with pytest.raises(grpc.aio.AioRpcError) as caught:
        [response async for response in stub.RunCompletion(ask(assistant()))]

    assert isinstance(from_rpc(caught.value), InvalidRequestError)


async def test_an_answer_that_is_cut_off_is_an_error(harness: Harness) -> None:
    harness.connector.batches = [[text("half of")]]

    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await harness.events(ask(assistant()))

    assert isinstance(from_rpc(caught.value), ProviderGarbledError)


async def test_a_whole_answer_that_fails_after_its_tools_says_that_they_ran(
    harness: Harness,
) -> None:
    harness.connector.batches = [[text("half of")]]

    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await harness.whole(ask(assistant(tool("a"))))

    assert from_rpc(caught.value).metadata["tools_ran"] == "true"


async def test_a_tools_service_that_cannot_be_reached_has_run_nothing() -> None:
    async with orchestrating(tools_address="127.0.0.1:1") as harness:
        [_, lost, *_] = await harness.events(ask(assistant(tool("a"))))
        assert lost.tool_finished.HasField("error")
        assert not lost.tool_finished.HasField("elapsed")
        harness.connector.batches = [[text("half of")]]
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await harness.whole(ask(assistant(tool("a"))))
    assert "tools_ran" not in from_rpc(caught.value).metadata


def test_only_events_of_tools_say_that_tools_ran() -> None:
    warning, text_ = pb.RunEvent(warning="No template."), pb.RunEvent(text_delta="half")
    refused = pb.RunEvent(tool_finished=pb.ToolFinished(call=pb.CalledFunction(id="1", name="no")))
    ran = pb.RunEvent(tool_finished=pb.ToolFinished(elapsed=duration_pb2.Duration()))
    sources = pb.RunEvent(sources=pb.Sources())
    shows = {"tools_ran": "true"}

    for events, metadata in (([warning, text_, refused], {}), ([ran], shows), ([sources], shows)):
        assert with_tools_ran(ProviderGarbledError("Cut off."), events).metadata == metadata


async def test_a_slow_tool_leaves_time_for_the_model(harness: Harness) -> None:
    slow = assistant(tool("hangs", "context", seconds=60), template="{context}")
    started = time.perf_counter()

    batches = await harness.batches(ask(slow), timeout=2)

    assert time.perf_counter() - started < 2
    assert kinds(batches[-1])[-1] == "done"


async def test_tools_stop_when_the_client_goes_away(harness: Harness) -> None:
    stub = pb_grpc.OrchestratorServiceStub(harness.orchestrator)
    request = ask(assistant(tool("slow", seconds=60)))
    call = stub.RunCompletion(request, **new_call_options(30))
    await anext(aiter(call))
    await asyncio.wait_for(harness.tools.started.wait(), 10)

    call.cancel()

    assert await asyncio.wait_for(harness.tools.cancelled.wait(), 2)


@pytest.mark.parametrize("slow", ["the functions", "the assistant"])
async def test_who_has_little_time_does_not_spoil_it_for_others(
    harness: Harness, slow: str
) -> None:
    harness.assistants.tools = [function("look")]
    gate = asyncio.Event()
    if slow == "the functions":
        harness.tools.listing = gate
    else:
        harness.assistants.reading = gate
    hasty = asyncio.create_task(harness.batches(ask("1"), timeout=1.5))
    while not (harness.tools.listed if slow == "the functions" else harness.assistants.reads):
        await asyncio.sleep(0.01)
    patient = asyncio.create_task(harness.events(ask("1")))
    with pytest.raises(grpc.aio.AioRpcError) as failure:
        await hasty
    assert failure.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    gate.set()

    events = await patient
    assert "tool_finished" not in kinds(events)  # which would tell that nothing is offered
    assert [each.name for each in harness.connector.seen[-1].functions] == ["look"]
    assert (harness.assistants.reads, harness.tools.listed) == (1, 1)


async def test_a_repeated_slot_that_makes_the_prompt_too_long_ends_the_call(
    harness: Harness,
) -> None:
    wide = assistant(tool("good", text="x" * 50_000), template="{context}{user_input}" * 10_000)

    for answered in (harness.events, harness.whole):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await answered(ask(wide, "y" * 50_000))
        failure = from_rpc(caught.value)
        assert isinstance(failure, InvalidRequestError)
        assert failure.message.startswith("The prompt has ")
    assert harness.connector.seen == []
