"""Large requests, answers and failures, and how frames are put together."""

import asyncio
import random

import grpc
from heddle.multiplex.v1 import multiplex_pb2
from heddle_runtime.contract.limits import MAX_MESSAGE_BYTES
from heddle_runtime.rpc.multiplex.channel import MAX_REQUEST_BYTES
from heddle_runtime.rpc.multiplex.send_queue import MAX_BATCH_BYTES, SendQueue
from runtime.greeting import ask
from runtime.multiplex.calling import code, greeter, started, texts, whole
from runtime.multiplex.serving import CARRY, STREAM, WHOLE, by_hand, multiplexed, opening, serving


async def test_a_large_request_goes_as_a_call_of_its_own() -> None:
    name = "n" * (MAX_REQUEST_BYTES - 100)
    async with serving(greeter()) as server, multiplexed(server) as to:
        assert await whole(to, name) == name
        assert server.paths == [CARRY]
        assert await whole(to, 2 * name) == 2 * name
        assert server.paths == [CARRY, WHOLE]


async def test_large_answers_arrive_and_too_large_ones_fail_alone() -> None:
    size = 5 * 1024 * 1024
    async with serving(greeter()) as server, multiplexed(server) as to:
        (reading,) = await started(to, "wait")
        assert len(await whole(to, f"{size}")) == size
        assert [len(text) for text in await texts(to, f"{size}")] == [1, 1, 1, size]
        too_large = str(MAX_MESSAGE_BYTES + 1)
        for call in (whole(to, too_large), texts(to, too_large)):
            assert await code(call) is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert not reading.done()
        assert await whole(to, "other") == "other"
        assert server.paths == [CARRY]


async def test_large_failures_fail_alone() -> None:
    """As of requests with thousands of mistakes, of which each is named."""
    async with serving(greeter()) as server, multiplexed(server) as to:
        (reading,) = await started(to, "wait")
        lengths = [*[1_000_000] * 50, MAX_MESSAGE_BYTES]
        calls = (code(whole(to, f"wrong {length}")) for length in lengths)
        assert {*await asyncio.gather(*calls)} == {grpc.StatusCode.INVALID_ARGUMENT}
        assert not reading.done()
        assert server.paths == [CARRY]


async def test_batches_are_of_a_bounded_size() -> None:
    async with serving(greeter()) as server, by_hand(server) as hand:
        await hand.say(*(opening(n, STREAM, ask("400000"), credit=10**6) for n in range(1, 21)))
        for call in range(1, 21):
            await hand.end_of(call)
        sizes = [response.ByteSize() for response in hand.responses]
        assert max(sizes) < MAX_BATCH_BYTES * 1.1
        assert len(sizes) < 20 * 4


async def test_what_waits_to_be_written_is_written_in_order_and_in_portions() -> None:
    outbox = SendQueue[multiplex_pb2.CarryRequest](multiplex_pb2.CarryRequest)
    sizes = [random.Random(number).choice([0, 10, 300_000, 2_000_000]) for number in range(50)]  # noqa: S311 - no secret
    for number, size in enumerate(sizes):
        outbox.batch(size).frames.add(call=number).open.request = bytes(size)
    outbox.close()
    written: list[multiplex_pb2.CarryRequest] = []

    async def write(batch: multiplex_pb2.CarryRequest) -> None:
        written.append(batch)

    await outbox.run(write)
    assert [frame.call for batch in written for frame in batch.frames] == [*range(50)]
    assert all(len(b.frames) == 1 or b.ByteSize() < MAX_BATCH_BYTES * 1.1 for b in written)
    assert len(written) < 50
