"""Calls that are cancelled, left or late: they end at the server too, and leave nothing."""

import asyncio
import signal
import time

import grpc
import pytest
from google.rpc import code_pb2
from heddle.multiplex.v1 import multiplex_pb2
from heddle_runtime.rpc.client import streaming
from heddle_runtime.rpc.multiplex.replica import CALLS_PER_STREAM
from patience import until
from runtime.greeting import ask, ask_whole
from runtime.multiplex.calling import (
    SOON,
    code,
    drained,
    greeter,
    listed,
    started,
    stream,
    tasks,
    texts,
    whole,
)
from runtime.multiplex.serving import (
    CARRY,
    LIST,
    STREAM,
    WHOLE,
    by_hand,
    multiplexed,
    opening,
    process,
    serving,
    stream_loads,
)


@pytest.mark.parametrize("way", ["cancelled", "left", "in a task that is cancelled"])
@pytest.mark.parametrize("reference", ["hang", "flood"])
async def test_a_stream_that_nobody_reads_any_more_ends_its_servicer(
    way: str, reference: str
) -> None:
    ending = greeter()
    async with serving(ending) as server, multiplexed(server) as to:
        call = stream(to, reference)
        reader = aiter(call)
        await anext(reader)
        if reference == "flood":  # more comes than is read
            await until(lambda: ending.flooded > 1, SOON)
        if way == "cancelled":
            assert call.cancel()
        elif way == "left":
            async with streaming(call):
                pass
        else:
            task = asyncio.create_task(drained(reader))
            await asyncio.sleep(0)  # it starts to read
            task.cancel()
        await until(lambda: ending.ended == [reference], SOON)
        await until(lambda: server.calls == [0], SOON)
        assert stream_loads(to) == [0]
        with pytest.raises(asyncio.CancelledError):
            await anext(reader)
        assert not call.cancel()
        assert await whole(to, "still") == "still"
        assert server.paths == [CARRY]


async def test_a_cancelled_unary_call_ends_its_servicer() -> None:
    ending = greeter()
    async with serving(ending) as server, multiplexed(server) as to:
        asking = asyncio.create_task(whole(to, "hang"))
        await until(lambda: ending.asked == ["hang"])
        asking.cancel()
        await until(lambda: ending.ended == ["hang"], SOON)
        await until(lambda: server.calls == [0], SOON)
        assert (stream_loads(to), server.paths) == ([0], [CARRY])


async def test_calls_that_are_cancelled_before_they_began_leave_nothing() -> None:
    async with serving(greeter()) as server, multiplexed(server) as to:
        for _ in range(CALLS_PER_STREAM // 2):
            stream(to, "flood").cancel()
            asyncio.get_running_loop().call_soon(asyncio.create_task(whole(to, "hang")).cancel)
        assert await whole(to, "other") == "other"
        await until(lambda: server.calls == [0], SOON)
        assert (stream_loads(to), server.paths) == ([0], [CARRY])


async def test_nothing_is_said_about_a_call_after_its_cancellation() -> None:
    async with serving(greeter()) as server, by_hand(server) as hand:
        await hand.say(opening(1, STREAM, ask("flood"), credit=2_000))
        await hand.say(opening(2, LIST, b""))
        await hand.end_of(2)
        said = len(hand.answers[1])
        assert said > 0
        await hand.say(
            multiplex_pb2.CallFrame(call=1, cancel=True),
            multiplex_pb2.CallFrame(call=1, credit=100_000),
        )
        await hand.say(opening(3, LIST, b""))
        await hand.end_of(3)
        assert len(hand.answers[1]) == said
        assert server.calls == [0]


async def test_a_client_that_vanishes_ends_all_of_its_calls() -> None:
    ending = greeter()
    async with serving(ending) as server:
        async with by_hand(server) as hand:
            await hand.say(
                opening(1, STREAM, ask("flood"), credit=10**9),
                opening(2, STREAM, ask("flood")),
                opening(3, WHOLE, ask_whole("hang")),
            )
            await until(lambda: server.calls == [3] and bool(ending.asked))
        await until(lambda: sorted(ending.ended) == ["flood", "flood", "hang"], SOON)
        await until(lambda: server.calls == [], SOON)


async def test_the_deadline_is_kept_by_the_client_when_the_server_hangs() -> None:
    async with process() as (server, to):
        assert await listed(to) == "developer"
        server.send_signal(signal.SIGSTOP)
        before = time.perf_counter()
        codes = await asyncio.gather(
            code(listed(to, timeout=0.3)), code(texts(to, "", 0.3)), code(whole(to, "hang", 0.3))
        )
        assert 0.2 < time.perf_counter() - before < SOON
        assert set(codes) == {grpc.StatusCode.DEADLINE_EXCEEDED}
        assert stream_loads(to) == [0]
        server.send_signal(signal.SIGCONT)
        assert await listed(to) == "developer"


async def test_the_deadline_is_kept_by_the_server_when_the_client_is_silent() -> None:
    ending = greeter()
    async with serving(ending) as server, by_hand(server) as hand:
        before = time.perf_counter()
        await hand.say(
            opening(1, STREAM, ask("hang"), timeout_ms=200),
            opening(2, STREAM, ask("flood"), timeout_ms=200),  # which waits for credit
            opening(3, WHOLE, ask_whole("hang"), timeout_ms=200),
        )
        for call in (1, 2, 3):
            assert (await hand.end_of(call)).error.code == code_pb2.DEADLINE_EXCEEDED
        assert 0.15 < time.perf_counter() - before < SOON
        assert sorted(ending.ended) == ["flood", "hang", "hang"]
        await until(lambda: server.calls == [0], SOON)


async def test_closing_a_channel_ends_its_calls_and_leaves_nothing_running() -> None:
    async with serving(greeter()) as server:
        before = tasks()
        async with multiplexed(server) as to:
            streams = await started(to, "hang", 10)
            asking = [asyncio.create_task(whole(to, "hang")) for _ in range(5)]
            asking += [asyncio.create_task(listed(to, "slow")) for _ in range(5)]
            await until(lambda: server.calls == [20])
        async with asyncio.timeout(SOON):
            codes = [await code(task) for task in [*streams, *asking]]
        assert set(codes) == {grpc.StatusCode.UNAVAILABLE}
        await until(lambda: server.calls == [], SOON)
        await until(lambda: tasks() == before, SOON)
