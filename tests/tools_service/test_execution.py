"""Running tools, over real calls: one, many, slow, broken, cancelled."""

import asyncio
import threading
import time

import httpx
import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.struct_pb2 import Struct
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.errors import (
    DeadlineError,
    HeddleError,
    InvalidRequestError,
    NotFoundError,
    ToolFailedError,
    UnavailableError,
    Violation,
)
from heddle_runtime.identity.call_metadata import new_call_options
from heddle_tools_service.sdk import (
    ToolCall,
    ToolConfig,
    ToolError,
    ToolResult,
    ToolUnavailableError,
    tool,
)
from tools_service.ordinary_tools import failing, nap
from tools_service.serving import invocation, outcome, said, serving_tools, text_of


async def test_statuses_come_before_the_one_result() -> None:
    async with serving_tools(nap) as client:
        statuses, result = await client.run("nap")

    assert statuses == ["sleeping"]
    assert text_of(result) == "rested"
    assert result.slot == "nap"
    assert 0.05 <= result.elapsed.ToTimedelta().total_seconds() < 1


@pytest.mark.alone
async def test_eight_tools_of_50_ms_take_less_than_a_third_more_than_one() -> None:
    eight = [invocation(str(number), "nap") for number in range(8)]
    took = []
    async with serving_tools(nap) as client:
        for _ in range(10):
            started = time.perf_counter()
            await client.run_all(eight)
            took.append(time.perf_counter() - started)

    # The best of several: a busy neighbour can only make it slower.
    assert 0.05 <= min(took) <= 1.3 * 0.05


async def test_what_is_ready_together_goes_out_together() -> None:
    eight = [invocation(str(number), "nap") for number in range(8)]
    async with serving_tools(nap) as client:
        responses = await client.run_all(eight)

    assert len(responses[0]) == 8
    assert {event.WhichOneof("event") for event in responses[0]} == {"status"}
    assert len(responses) <= 5  # usually 2; each is a message that five processes must handle


async def test_one_failing_tool_disturbs_no_other() -> None:
    wrong = Struct()
    wrong.update({"seconds": -1})
    batch = [
        invocation("good", "nap", {"seconds": 0.01}, slot="elsewhere"),
        invocation("bad", "broken"),
        invocation("absent", "nobody"),
        pb.ToolInvocation(id="wrong", name="nap", config=wrong),
    ]
    broken = failing(lambda: RuntimeError("postgresql://lamb:s3cret@db/lamb is down"))
    async with serving_tools(nap, broken) as client:
        events = await client.run_all(batch)

    good = outcome(events, "good")
    assert isinstance(good, pb.ToolResult)
    assert good.slot == "elsewhere"
    absent = outcome(events, "absent")
    assert isinstance(absent, NotFoundError)
    assert absent.metadata == {"tool": "nobody"}
    bad = outcome(events, "bad")
    assert type(bad) is HeddleError
    assert bad.message == "The tool 'broken' failed. Give the request id to the operator."
    refused = outcome(events, "wrong")
    assert isinstance(refused, InvalidRequestError)
    assert refused.violations == (Violation("config.seconds", "must be at least 0"),)


@pytest.mark.parametrize(
    ("raised", "kind", "message"),
    [
        (ToolError("No dice"), ToolFailedError, "No dice"),
        (ToolError("key sk-abcdefghijklmnop1234"), ToolFailedError, "key [redacted]"),
        (ToolUnavailableError("Closed"), UnavailableError, "Closed"),
        (
            httpx.ConnectError("10.0.0.7 refuses"),
            UnavailableError,
            "The server behind the tool 'broken' does not answer. Try again later.",
        ),
        (TimeoutError(), DeadlineError, "The tool 'broken' waited too long."),
        (ExceptionGroup("of tasks", [ToolError("Inner")]), ToolFailedError, "Inner"),
        (asyncio.CancelledError(), ToolFailedError, "The tool 'broken' stopped itself."),
        (
            SystemExit(3),
            HeddleError,
            "The tool 'broken' failed. Give the request id to the operator.",
        ),
    ],
)
async def test_what_a_tool_raises_arrives_as_a_typed_error(
    raised: BaseException, kind: type[HeddleError], message: str
) -> None:
    async with serving_tools(failing(lambda: raised)) as client:
        with pytest.raises(HeddleError) as caught:
            await client.run("broken")

    assert type(caught.value) is kind
    assert caught.value.message == message


async def test_a_tool_that_returns_something_else_fails_typed() -> None:
    @tool("odd", title="Odd")
    async def odd(_: object) -> ToolResult:
        """Returns a text."""
        return "text"  # type: ignore[return-value] # as an author might

    async with serving_tools(odd) as client:
        with pytest.raises(HeddleError, match="The tool 'odd' failed"):
            await client.run("odd")


async def test_a_slow_tool_ends_in_a_deadline_error_that_names_it() -> None:
    batch = [invocation("slow", "nap", {"seconds": 30}), invocation("fast", "nap")]
    started = time.perf_counter()
    async with serving_tools(nap, default_timeout=0.2) as client:
        events = await client.run_all(batch)

    slow = outcome(events, "slow")
    assert isinstance(slow, DeadlineError)
    assert slow.message == "The tool 'nap' did not finish within 0.2 s."
    assert slow.metadata == {"tool": "nap"}
    assert isinstance(outcome(events, "fast"), pb.ToolResult)
    assert time.perf_counter() - started < 1.5


@pytest.mark.parametrize(
    ("asked", "call", "expected"), [(0.2, 10, 0.2), (9, 0.6, 0.54), (0, 0.6, 0.3)]
)
async def test_a_tool_gets_what_it_asks_for_and_by_default_half_of_the_call(
    asked: float, call: float, expected: float
) -> None:
    slow = invocation("slow", "nap", {"seconds": 30})
    if asked:
        slow.timeout.FromMilliseconds(int(asked * 1_000))
    started = time.perf_counter()
    async with serving_tools(nap) as client:
        started = time.perf_counter()
        events = await client.run_all([slow], seconds=call)
        took = time.perf_counter() - started

    assert isinstance(outcome(events, "slow"), DeadlineError)
    assert 0.6 * expected <= took <= expected + 0.7


async def test_a_tool_that_ignores_its_cancellation_keeps_nobody_waiting() -> None:
    release = asyncio.Event()

    @tool("deaf", title="Deaf")
    async def deaf(_: object) -> ToolResult:
        """Goes on whatever is said."""
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return ToolResult("late")

    async with serving_tools(deaf, default_timeout=0.1) as client:
        started = time.perf_counter()
        events = await client.run_all([invocation("1", "deaf")])
        took = time.perf_counter() - started
        release.set()

    assert isinstance(outcome(events, "1"), DeadlineError)
    assert took < 1.5


async def test_tools_stop_when_nobody_waits_for_them() -> None:
    stopped = []
    all_stopped = asyncio.Event()

    @tool("endless", title="Endless")
    async def endless(call: ToolCall[ToolConfig]) -> ToolResult:
        """Never ends."""
        call.status("begun")
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(1)
            if len(stopped) == 8:
                all_stopped.set()
        return ToolResult("unreachable")

    request = pb.ExecuteToolsRequest(
        invocations=[invocation(str(number), "endless") for number in range(8)]
    )
    async with serving_tools(endless) as client:
        call = client.stub.ExecuteTools(request, **new_call_options(10))
        await anext(aiter(call))
        call.cancel()
        assert await asyncio.wait_for(all_stopped.wait(), 2)


async def test_a_blocking_tool_does_not_hold_up_the_others() -> None:
    seen: list[str] = []
    release = threading.Event()

    @tool("blocking", title="Blocking")
    def blocking(call: ToolCall[ToolConfig]) -> ToolResult:
        """Waits in its thread."""
        call.status("before")
        assert release.wait(10)
        call.status("after")
        seen.append(threading.current_thread().name)
        return ToolResult("done")

    async with serving_tools(blocking, nap) as client:
        both = asyncio.create_task(client.run_all([invocation("b", "blocking")]))
        await asyncio.sleep(0.1)
        await client.run("nap", {"seconds": 0})
        release.set()
        events = await both

    words = [
        event.status.message for batch in events for event in batch if event.HasField("status")
    ]
    assert words == ["before", "after"]
    assert seen == ["tool-blocking"]


async def test_threads_that_hang_do_not_hold_up_other_tools() -> None:
    release = threading.Event()

    @tool("stuck", title="Stuck")
    def stuck(_: object) -> ToolResult:
        """Hangs."""
        release.wait()
        return ToolResult("late")

    @tool("quick", title="Quick")
    def quick(_: object) -> ToolResult:
        """Does not."""
        return ToolResult("done")

    batch = [invocation(str(number), "stuck") for number in range(5)] + [invocation("q", "quick")]
    try:
        async with serving_tools(stuck, quick, default_timeout=0.3, threads=2) as client:
            events = await client.run_all(batch)
    finally:
        release.set()

    assert isinstance(outcome(events, "q"), pb.ToolResult)
    assert all(isinstance(outcome(events, str(number)), DeadlineError) for number in range(5))


async def test_a_blocking_tool_that_calls_sys_exit_fails_alone() -> None:
    @tool("quitter", title="Quitter")
    def quitter(_: object) -> ToolResult:
        """Leaves."""
        raise SystemExit(1)

    async with serving_tools(quitter, nap) as client:
        with pytest.raises(HeddleError, match="The tool 'quitter' failed"):
            await client.run("quitter")
        await client.run("nap", {"seconds": 0})


@pytest.mark.parametrize(
    ("invocations", "field"),
    [
        ([invocation("1", "nap"), invocation("1", "nap")], "invocations[1].id"),
        ([invocation(str(number), "nap") for number in range(65)], "invocations"),
        ([pb.ToolInvocation(id="1", name="nap", timeout=Duration())], "invocations[0].timeout"),
        ([pb.ToolInvocation(name="nap")], "invocations[0].id"),
        ([], "invocations"),
    ],
)
async def test_a_batch_that_is_wrong_as_a_whole_is_refused(
    invocations: list[pb.ToolInvocation], field: str
) -> None:
    async with serving_tools(nap) as client:
        with pytest.raises(InvalidRequestError) as caught:
            await client.run_all(invocations)

    assert [violation.field for violation in caught.value.violations] == [field]


async def test_sixty_four_invocations_are_allowed() -> None:
    many = [invocation(str(number), "nap", {"seconds": 0}) for number in range(64)]
    async with serving_tools(nap) as client:
        events = await client.run_all(many, said("hello"))

    assert all(isinstance(outcome(events, str(number)), pb.ToolResult) for number in range(64))


async def test_nan_in_a_configuration_is_refused() -> None:
    async with serving_tools(nap) as client:
        with pytest.raises(InvalidRequestError) as caught:
            await client.run("nap", {"seconds": float("nan")})

    assert caught.value.violations == (
        Violation("config", "must hold neither NaN nor infinite numbers"),
    )
