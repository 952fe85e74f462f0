"""Pipes that close while calls are in them."""

import asyncio
import time

import grpc
from patience import until
from runtime.greeting import ask
from runtime.multiplex.calling import greeter, started, texts, whole
from runtime.multiplex.serving import CARRY, LIST, STREAM, by_hand, multiplexed, opening, serving


async def test_a_client_that_has_said_everything_is_answered_still() -> None:
    waiting = greeter()
    async with serving(waiting) as server, by_hand(server) as hand:
        await hand.say(opening(1, STREAM, ask("wait")))
        await hand.stream.done_writing()
        await until(lambda: waiting.streams == 1)
        waiting.free.set()
        assert not (await hand.end_of(1)).HasField("error")
        assert await hand.stream.read() is grpc.aio.EOF


async def test_a_pipe_that_opens_while_its_server_leaves_is_told_so() -> None:
    async with serving(greeter()) as server:
        server.drain()
        async with by_hand(server) as hand:
            await hand.say(opening(1, LIST, b""))
            await hand.end_of(1)
            assert any(response.leaving for response in hand.responses)


async def test_a_pipe_that_grew_old_is_replaced_and_no_call_notices() -> None:
    async with serving(greeter(), max_stream_seconds=0.2) as server, multiplexed(server) as to:

        async def ask_on(name: str) -> int:
            count = 0
            while server.paths.count(CARRY) < 7:
                assert await whole(to, name) == name
                assert (await texts(to, f"tale {name}"))[3:] == [
                    f"tale {name}, page {page}" for page in range(20)
                ]
                count += 1
            return count

        before = time.perf_counter()
        counts = await asyncio.gather(*(ask_on(f"name {number}") for number in range(5)))
        assert min(counts) > 5
        assert time.perf_counter() - before > 0.4  # none comes before its time
        await until(lambda: len(server.calls) <= 1)


async def test_a_long_call_outlives_its_pipe() -> None:
    waiting = greeter()
    async with serving(waiting, max_stream_seconds=0.05) as server, multiplexed(server) as to:
        (reading,) = await started(to, "wait")
        await asyncio.sleep(0.1)
        assert await whole(to, "new") == "new"
        assert server.calls.count(1) == 1
        waiting.free.set()
        assert await reading == ["0", "1", "2"]
