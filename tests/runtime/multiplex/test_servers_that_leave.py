"""Servers that are killed, replaced or stopped, and those without pipes."""

import asyncio
import time
from collections import Counter

import grpc
from heddle_runtime.rpc.client import channel
from heddle_runtime.settings.service import ServiceSettings
from patience import until
from runtime.greeting import CONTRACT, greeting
from runtime.multiplex.calling import (
    AT_ONCE,
    PATIENT,
    SOON,
    code,
    greeter,
    listed,
    started,
    texts,
    two_servers,
    whole,
)
from runtime.multiplex.serving import CARRY, WHOLE, process, serving, stream_loads


async def test_a_server_that_is_killed_fails_every_call_and_finishes_none() -> None:
    async with process() as (server, to):
        streams = await started(to, "hang", 20)
        asking = [asyncio.create_task(whole(to, "hang")) for _ in range(5)]
        await until(lambda: stream_loads(to) == [25])
        server.kill()
        async with asyncio.timeout(SOON):
            codes = [await code(task) for task in [*streams, *asking]]
        assert set(codes) == {grpc.StatusCode.UNAVAILABLE}
        assert stream_loads(to) == []


async def test_only_a_safe_call_is_repeated_when_its_server_came_back() -> None:
    asked = greeter()
    async with greeting(asked, AT_ONCE) as server:
        to = channel(server.address, CONTRACT)
        await to.channel_ready()
        safe = asyncio.create_task(listed(to, "slow once"))
        await until(lambda: len(asked.asked) == 1)
        unsafe = asyncio.create_task(whole(to, "hang"))
        reading = (await started(to, "hang"))[0]
        assert stream_loads(to) == [3]
    again = ServiceSettings(drain_wait=0, shutdown_grace=0, listen=server.address)
    async with greeting(asked, again):
        assert await code(unsafe) is grpc.StatusCode.UNAVAILABLE
        assert await code(reading) is grpc.StatusCode.UNAVAILABLE
        assert await safe == "developer"
        await to.close()
    assert Counter(asked.asked) == {"slow once": 2, "hang": 1}


async def test_only_a_safe_call_is_repeated_by_another_server() -> None:
    async with two_servers(AT_ONCE) as (to, stop, broken, other):
        other.slow = True
        safe = [asyncio.create_task(listed(to, "slow once")) for _ in range(2)]
        unsafe = [asyncio.create_task(whole(to, "hang")) for _ in range(2)]
        reading = await started(to, "hang", 2)
        await stop()
        assert await asyncio.gather(*safe) == ["developer"] * 2
        for tasks in (unsafe, reading):
            (failed,), (_,) = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            assert await code(failed) is grpc.StatusCode.UNAVAILABLE
        assert broken.asked == ["slow once", "hang"]
        assert other.asked == ["slow once", "hang", "slow once"]


async def test_calls_go_through_a_new_pipe_when_the_server_was_replaced() -> None:
    replaced = greeter()
    async with greeting(replaced, AT_ONCE) as server:
        to = channel(server.address, CONTRACT)
        await to.channel_ready()
        assert await whole(to, "old") == "old"
    again = ServiceSettings(drain_wait=0, shutdown_grace=0, listen=server.address)
    async with greeting(replaced, again):
        await until(lambda: stream_loads(to) == [])
        while not stream_loads(to):  # the first time, the old connection may be asked
            await to.channel_ready()
        reading = await started(to, "hang")
        assert stream_loads(to) == [1]
        assert await whole(to, "new") == "new"
        await to.close()
    assert await code(reading[0]) is not None


async def test_calls_go_their_own_way_to_a_server_without_pipes() -> None:
    without = ServiceSettings(drain_wait=0, shutdown_grace=0, HEDDLE_MULTIPLEXING=False)  # type: ignore[call-arg] # the alias is the variable's name
    async with greeting(greeter(), without) as server, channel(server.address, CONTRACT) as to:
        for _ in range(2):  # the second time it is known
            async with asyncio.timeout(SOON):
                await to.channel_ready()
            assert await texts(to, "") == ["0", "1", "2"]
            assert await whole(to, "name") == "name"
        await started(to, "hang")
        assert stream_loads(to) == []


async def test_the_first_calls_do_not_wait_for_a_pipe() -> None:
    async with serving(greeter()) as server, channel(server.address, CONTRACT) as to:
        assert await whole(to, "name") == "name"
        await to.channel_ready()
        assert await whole(to, "name") == "name"
        assert sorted(server.paths) == sorted([CARRY, WHOLE])


async def test_a_new_channel_does_not_inherit_the_failure_of_another_one() -> None:
    async with greeting(greeter(), AT_ONCE) as server:
        old = channel(server.address, CONTRACT)
        assert await whole(old, "old") == "old"
    assert await code(whole(old, "old")) is grpc.StatusCode.UNAVAILABLE
    again = ServiceSettings(drain_wait=0, shutdown_grace=0, listen=server.address)
    async with greeting(greeter(), again), channel(server.address, CONTRACT) as new:
        assert await whole(new, "new") == "new"
    await old.close()


async def test_an_idle_pipe_does_not_hold_up_a_stop() -> None:
    async with greeting(greeter(), PATIENT) as server:
        to = channel(server.address, CONTRACT)
        await to.channel_ready()
        assert await whole(to, "name") == "name"
        stopping = time.perf_counter()
    assert time.perf_counter() - stopping < SOON
    await to.close()


async def test_a_server_that_stops_finishes_its_calls_while_another_gets_the_new_ones() -> None:
    async with two_servers(PATIENT) as (to, stop, leaving, staying):
        reading = await started(to, "wait", 10)
        assert stream_loads(to) == [5, 5]
        before = time.perf_counter()
        stopping = asyncio.ensure_future(stop())
        await until(lambda: stream_loads(to) == [5])
        for number in range(20):
            await whole(to, f"new {number}")
            await asyncio.sleep(0.01)
        assert not stopping.done()
        leaving.free.set()
        staying.free.set()
        assert await asyncio.gather(*reading) == [["0", "1", "2"]] * 10
        await stopping
        assert time.perf_counter() - before < SOON
    assert leaving.asked == []
    assert staying.asked == [f"new {number}" for number in range(20)]
