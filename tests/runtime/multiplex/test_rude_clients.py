"""Clients that write what ours never writes, or do not read."""

import asyncio
import time

from google.rpc import code_pb2
from heddle.multiplex.v1 import multiplex_pb2
from patience import settled
from runtime.greeting import ask, ask_whole
from runtime.multiplex.calling import SOON, greeter, whole
from runtime.multiplex.serving import LIST, STREAM, WHOLE, by_hand, multiplexed, opening, serving


async def test_frames_that_make_no_sense_harm_no_other_call() -> None:
    waiting = greeter()
    async with serving(waiting) as server, by_hand(server) as hand:
        frame = multiplex_pb2.CallFrame
        await hand.say(
            opening(5, STREAM, ask("wait")),
            frame(call=5),
            frame(call=0, cancel=True),
            frame(call=4, cancel=True),
            frame(call=2**64 - 1, credit=2**32 - 1),
            opening(5, WHOLE, ask_whole("twice")),
            opening(3, WHOLE, ask_whole("late")),
            opening(6, LIST, b""),
        )
        await hand.say()
        assert not (await hand.end_of(6)).HasField("error")
        await hand.say(
            frame(call=6, credit=1000), frame(call=6, cancel=True), opening(7, LIST, b"")
        )
        assert not (await hand.end_of(7)).HasField("error")
        assert server.calls == [1]
        waiting.free.set()
        assert not (await hand.end_of(5)).HasField("error")
        assert [len(hand.answers[call]) for call in (3, 5, 6, 7)] == [0, 4, 1, 1]
        assert waiting.asked == ["", ""]


async def test_calls_that_cannot_be_are_refused_each_for_itself() -> None:
    async with serving(greeter()) as server, by_hand(server) as hand:
        refused = {
            1: (opening(1, STREAM, b"\xff\xff"), code_pb2.INVALID_ARGUMENT),
            2: (
                opening(2, "/heddle.multiplex.v1.MultiplexService/Carry", b""),
                code_pb2.UNIMPLEMENTED,
            ),
            3: (opening(3, "", b""), code_pb2.UNIMPLEMENTED),
            4: (opening(4, LIST, b"", timeout_ms=0), code_pb2.INVALID_ARGUMENT),
            5: (opening(5, STREAM, ask("hang"), timeout_ms=0), code_pb2.INVALID_ARGUMENT),
            6: (multiplex_pb2.CallFrame(call=6, open=multiplex_pb2.Open()), code_pb2.UNIMPLEMENTED),
            7: (opening(7, LIST, b"", timeout_ms=2**32 - 1), code_pb2.OK),
        }
        await hand.say(*(frame for frame, _ in refused.values()))
        for call, (_, expected) in refused.items():
            assert (await hand.end_of(call)).error.code == expected, call
        assert server.calls == [0]


async def test_boundless_credit_leaves_the_server_to_the_others() -> None:
    async with serving(greeter()) as server, by_hand(server) as hand, multiplexed(server) as to:
        most = 2**32 - 1
        await hand.say(
            opening(1, STREAM, ask("flood"), credit=most),
            opening(2, STREAM, ask("drizzle"), credit=most),
            *[multiplex_pb2.CallFrame(call=1, credit=most)] * 1000,
        )
        for _ in range(20):
            before = time.perf_counter()
            assert await whole(to, "other") == "other"
            assert time.perf_counter() - before < SOON
            await asyncio.sleep(0.02)


async def test_the_server_does_not_keep_what_its_client_does_not_read() -> None:
    flooding = greeter()
    async with serving(flooding) as server, by_hand(server) as hand:
        await hand.say(opening(1, STREAM, ask("flood"), credit=2**32 - 1))
        assert await settled(lambda: flooding.flooded) < 20 * 1024
        await hand.say(multiplex_pb2.CallFrame(call=1, cancel=True), opening(2, LIST, b""))
        await hand.end_of(2)


async def test_a_client_that_asks_and_does_not_read_is_not_listened_to() -> None:
    asked = greeter()
    async with serving(asked) as server, by_hand(server) as hand:
        for call in range(1, 301):
            await hand.say(opening(call, WHOLE, ask_whole("100000")))
        assert await settled(lambda: len(asked.asked)) < 200
        await hand.end_of(300)
        assert len(asked.asked) == 300


async def test_very_many_calls_in_one_request_let_the_others_work() -> None:
    async with serving(greeter()) as server, by_hand(server) as hand, multiplexed(server) as to:
        await hand.say(*(opening(call, LIST, b"") for call in range(1, 30_001)))
        for _ in range(5):
            before = time.perf_counter()
            assert await whole(to, "other") == "other"
            assert time.perf_counter() - before < SOON
        assert max(server.calls) < 1_000
