"""`heddle_runtime.pipe`: many calls in one stream, of which none can harm another."""

import asyncio
import logging
import random
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager

import grpc
import pytest
import uvloop
from google.rpc import code_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.orchestrator.v1 import orchestrator_pb2_grpc as pb_grpc
from heddle.pipe.v1 import pipe_pb2
from heddle_runtime.calls import CALLER, Caller, outgoing
from heddle_runtime.client import MAX_MESSAGE_BYTES, OPTIONS, channel, streaming
from heddle_runtime.errors import from_rpc
from heddle_runtime.identity import Identity, TokenSigner
from heddle_runtime.pipe.call import WINDOW
from heddle_runtime.pipe.channel import FULL, LARGEST_REQUEST
from heddle_runtime.pipe.outbox import LARGEST_BATCH, Outbox
from heddle_runtime.settings import ServiceSettings
from hypothesis import given, settings
from hypothesis import strategies as st
from runtime.greeting import CONTRACT, Greeter, ask, ask_whole, greeting
from runtime.pipes import (
    CARRY,
    LIST,
    STREAM,
    WHOLE,
    by_hand,
    opening,
    piped,
    pipes_of,
    process,
    serving,
    until,
)

SOON = 1.0
AT_ONCE = ServiceSettings(drain_wait=0, shutdown_grace=0)
PATIENT = ServiceSettings(drain_wait=0, shutdown_grace=10)
Channel = grpc.aio.Channel


@pytest.fixture(autouse=True)
def nothing_is_lost(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Check that no task failed unseen."""
    yield
    lost = [r.getMessage() for r in caplog.records if r.levelno >= logging.ERROR]
    # grpc.aio says the one when two loops wake at once, the other when a loop ends before its last
    # handler, and means nothing by it.
    harmless = ("PollerCompletionQueue", "_handle_exceptions")
    assert not [message for message in lost if not any(text in message for text in harmless)]


def greeter() -> Greeter:
    return Greeter()  # type: ignore[abstract] # it does not offer every method


def stream(
    to: Channel, reference: str, timeout: float = 30
) -> grpc.aio.UnaryStreamCall[pb.RunCompletionRequest, pb.RunCompletionResponse]:
    return pb_grpc.OrchestratorServiceStub(to).RunCompletion(ask(reference), **outgoing(timeout))


async def texts(to: Channel, reference: str, timeout: float = 30) -> list[str]:
    return [r.events[0].text_delta async for r in stream(to, reference, timeout)]


async def whole(to: Channel, reference: str, timeout: float = 30) -> str:
    stub = pb_grpc.OrchestratorServiceStub(to)
    response = await stub.RunWholeCompletion(ask_whole(reference), **outgoing(timeout))
    return response.events[0].text_delta


async def drained(reader: AsyncIterator[object]) -> None:
    async for _ in reader:
        pass


async def listed(to: Channel, token: str = "", timeout: float = 30) -> str:
    request = pb.ListStrategiesRequest(page_token=token)
    stub = pb_grpc.OrchestratorServiceStub(to)
    return (await stub.ListStrategies(request, **outgoing(timeout))).strategies[0].name


async def code(call: Awaitable[object]) -> grpc.StatusCode:
    """Return the code that `call` fails with."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value.code()


@asynccontextmanager
async def two_servers(
    settings: ServiceSettings,
) -> AsyncIterator[tuple[Channel, Callable[[], Awaitable[None]], Greeter, Greeter]]:
    """Yield a channel to two servers, what stops the one its pipe leads to, that, and the other."""
    both = greeter(), greeter()
    async with AsyncExitStack() as one, AsyncExitStack() as another:
        stacks = one, another
        servers = [
            await stack.enter_async_context(greeting(greets, settings))
            for stack, greets in zip(stacks, both, strict=True)
        ]
        async with channel("ipv4:" + ",".join(s.address for s in servers), CONTRACT) as to:
            await to.channel_ready()
            await whole(to, "who")
            first = 0 if both[0].asked else 1
            yield to, stacks[first].aclose, both[first], both[1 - first]


def tasks() -> Counter[str]:
    """Return what runs."""
    return Counter(str(task.get_coro()).split(" at ")[0] for task in asyncio.all_tasks())


async def started(to: Channel, reference: str, count: int = 1) -> list[asyncio.Task[list[str]]]:
    """Begin to read streams; return when each has sent something."""
    seen = 0

    async def read() -> list[str]:
        nonlocal seen
        found: list[str] = []
        async with streaming(stream(to, reference)) as responses:
            async for response in responses:
                seen += not found
                found.append(response.events[0].text_delta)
        return found

    tasks = [asyncio.create_task(read()) for _ in range(count)]
    await until(lambda: seen == count)
    return tasks


@pytest.mark.parametrize("count", [FULL - 2, 4 * FULL])
async def test_hundreds_of_calls_at_once_get_their_own_answers_in_order(count: int) -> None:
    async with serving(greeter()) as server, piped(server) as to:
        tales = [f"tale {number}" for number in range(count // 2)]
        names = [f"name {number}" for number in range(count // 2)]
        told = asyncio.gather(*(texts(to, tale) for tale in tales))
        named = asyncio.gather(*(whole(to, name) for name in names))
        await asyncio.sleep(0)
        assert pipes_of(to) == [count]
        pages = range(20)
        assert await told == [["0", "1", "2", *(f"{t}, page {p}" for p in pages)] for t in tales]
        assert await named == names

        assert set(server.paths) == {CARRY}
        assert sum(server.calls) == sum(pipes_of(to)) == 0


async def test_a_reader_that_stops_stops_its_servicer_and_nobody_else() -> None:
    flooding = greeter()
    async with serving(flooding) as server, piped(server) as to:
        stuck = stream(to, "flood")
        await anext(aiter(stuck))
        assert await asyncio.gather(*(whole(to, str(n)) for n in range(50)))
        await asyncio.sleep(0.1)
        produced = flooding.flooded
        assert WINDOW * 0.9 < produced * 1000 < WINDOW * 1.1

        for _ in range(2 * WINDOW // 1000):
            await anext(aiter(stuck))
        await asyncio.sleep(0.1)
        assert produced * 2 < flooding.flooded < produced * 4
        assert await texts(to, "tale") != []
        stuck.cancel()
        assert server.paths == [CARRY]


@pytest.mark.parametrize("kind", ["drizzle", "nothing"])
async def test_a_servicer_that_never_waits_lets_the_others_work(kind: str) -> None:
    async with serving(greeter()) as server, piped(server) as to:
        async with streaming(stream(to, kind)) as responses:
            await anext(aiter(responses))
            for _ in range(5):
                before = time.perf_counter()
                await whole(to, "other")
                assert time.perf_counter() - before < SOON
        await until(lambda: server.calls == [0])


async def test_each_call_is_judged_by_its_own_token() -> None:
    secret = "a-secret-of-at-least-32-characters"
    tokens = {name: TokenSigner(secret).token(Identity(name)) for name in ("ann", "bob")}
    tokens["eve"] = TokenSigner("another secret" * 3).token(Identity("ann"))

    async def who(to: Channel, name: str) -> str:
        CALLER.set(Caller("r", token=tokens.get(name, "")))
        try:
            return await listed(to)
        except grpc.aio.AioRpcError as error:
            return from_rpc(error).reason

    async with serving(greeter(), secret=secret) as server, piped(server) as to:
        answers = await asyncio.gather(*(who(to, n) for n in ["ann", "eve", "bob", "nobody"] * 20))

        assert answers == ["ann", "UNAUTHENTICATED", "bob", "UNAUTHENTICATED"] * 20
        assert server.paths == [CARRY]


@pytest.mark.parametrize("way", ["cancelled", "left", "in a task that is cancelled"])
@pytest.mark.parametrize("reference", ["hang", "flood"])
async def test_a_stream_that_nobody_reads_any_more_ends_its_servicer(
    way: str, reference: str
) -> None:
    ending = greeter()
    async with serving(ending) as server, piped(server) as to:
        call = stream(to, reference)
        reader = aiter(call)
        await anext(reader)
        await asyncio.sleep(0.02)  # more comes, and waits to be read
        if way == "cancelled":
            assert call.cancel()
        elif way == "left":
            async with streaming(call):
                pass
        else:
            task = asyncio.create_task(drained(reader))
            await asyncio.sleep(0.02)
            task.cancel()
        await until(lambda: ending.ended == [reference], SOON)
        await until(lambda: server.calls == [0], SOON)
        assert pipes_of(to) == [0]
        with pytest.raises(asyncio.CancelledError):
            await anext(reader)
        assert not call.cancel()
        assert await whole(to, "still") == "still"
        assert server.paths == [CARRY]


async def test_a_cancelled_unary_call_ends_its_servicer() -> None:
    ending = greeter()
    async with serving(ending) as server, piped(server) as to:
        asking = asyncio.create_task(whole(to, "hang"))
        await until(lambda: ending.asked == ["hang"])
        asking.cancel()
        await until(lambda: ending.ended == ["hang"], SOON)
        await until(lambda: server.calls == [0], SOON)
        assert (pipes_of(to), server.paths) == ([0], [CARRY])


async def test_calls_that_are_cancelled_before_they_began_leave_nothing() -> None:
    async with serving(greeter()) as server, piped(server) as to:
        for _ in range(FULL // 2):
            stream(to, "flood").cancel()
            asyncio.get_running_loop().call_soon(asyncio.create_task(whole(to, "hang")).cancel)
        assert await whole(to, "other") == "other"
        await until(lambda: server.calls == [0], SOON)
        assert (pipes_of(to), server.paths) == ([0], [CARRY])


async def test_nothing_is_said_about_a_call_after_its_cancellation() -> None:
    async with serving(greeter()) as server, by_hand(server) as hand:
        await hand.say(opening(1, STREAM, ask("flood"), credit=2_000))
        await hand.say(opening(2, LIST, b""))
        await hand.end_of(2)
        said = len(hand.answers[1])
        assert said > 0
        await hand.say(
            pipe_pb2.CallFrame(call=1, cancel=True), pipe_pb2.CallFrame(call=1, credit=100_000)
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
        assert await listed(to) == "anonymous"
        server.send_signal(signal.SIGSTOP)
        before = time.perf_counter()
        codes = await asyncio.gather(
            code(listed(to, timeout=0.3)), code(texts(to, "", 0.3)), code(whole(to, "hang", 0.3))
        )
        assert 0.2 < time.perf_counter() - before < 1
        assert set(codes) == {grpc.StatusCode.DEADLINE_EXCEEDED}
        assert pipes_of(to) == [0]
        server.send_signal(signal.SIGCONT)
        assert await listed(to) == "anonymous"


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
        assert 0.15 < time.perf_counter() - before < 1
        assert sorted(ending.ended) == ["flood", "hang", "hang"]
        await until(lambda: server.calls == [0], SOON)


async def test_a_server_that_is_killed_fails_every_call_and_finishes_none() -> None:
    async with process() as (server, to):
        streams = await started(to, "hang", 20)
        asking = [asyncio.create_task(whole(to, "hang")) for _ in range(5)]
        await until(lambda: pipes_of(to) == [25])
        server.kill()
        async with asyncio.timeout(2):
            codes = [await code(task) for task in [*streams, *asking]]
        assert set(codes) == {grpc.StatusCode.UNAVAILABLE}
        assert pipes_of(to) == []


async def test_only_a_safe_call_is_repeated_when_its_server_came_back() -> None:
    asked = greeter()
    async with greeting(asked, AT_ONCE) as server:
        to = channel(server.address, CONTRACT)
        await to.channel_ready()
        safe = asyncio.create_task(listed(to, "slow once"))
        await until(lambda: len(asked.asked) == 1)
        unsafe = asyncio.create_task(whole(to, "hang"))
        reading = (await started(to, "hang"))[0]
        assert pipes_of(to) == [3]
    again = ServiceSettings(drain_wait=0, shutdown_grace=0, address=server.address)
    async with greeting(asked, again):
        assert await code(unsafe) is grpc.StatusCode.UNAVAILABLE
        assert await code(reading) is grpc.StatusCode.UNAVAILABLE
        assert await safe == "anonymous"
        await to.close()
    assert Counter(asked.asked) == {"slow once": 2, "hang": 1}


async def test_only_a_safe_call_is_repeated_by_another_server() -> None:
    async with two_servers(AT_ONCE) as (to, stop, broken, other):
        other.slow = True
        safe = asyncio.create_task(listed(to, "slow once"))
        unsafe = asyncio.create_task(whole(to, "hang"))
        (reading,) = await started(to, "hang")
        await stop()
        assert await safe == "anonymous"
        assert await code(unsafe) is grpc.StatusCode.UNAVAILABLE
        assert await code(reading) is grpc.StatusCode.UNAVAILABLE
    assert (broken.asked, other.asked) == (["who", "slow once", "hang"], ["slow once"])


async def test_calls_go_through_a_new_pipe_when_the_server_was_replaced() -> None:
    replaced = greeter()
    async with greeting(replaced, AT_ONCE) as server:
        to = channel(server.address, CONTRACT)
        await to.channel_ready()
        assert await whole(to, "old") == "old"
    again = ServiceSettings(drain_wait=0, shutdown_grace=0, address=server.address)
    async with greeting(replaced, again):
        await until(lambda: pipes_of(to) == [])
        while not pipes_of(to):  # the first time, the old connection may be asked
            await to.channel_ready()
        reading = await started(to, "hang")
        assert pipes_of(to) == [1]
        assert await whole(to, "new") == "new"
        await to.close()
    assert await code(reading[0]) is not None


async def test_calls_go_their_own_way_to_a_server_without_pipes() -> None:
    without = ServiceSettings(drain_wait=0, shutdown_grace=0, HEDDLE_PIPES=False)  # type: ignore[call-arg] # the alias is the variable's name
    async with greeting(greeter(), without) as server, channel(server.address, CONTRACT) as to:
        for _ in range(2):  # the second time it is known
            async with asyncio.timeout(2):
                await to.channel_ready()
            assert await texts(to, "") == ["0", "1", "2"]
            assert await whole(to, "name") == "name"
        await started(to, "hang")
        assert pipes_of(to) == []


async def test_the_first_calls_do_not_wait_for_a_pipe() -> None:
    async with serving(greeter()) as server, channel(server.address, CONTRACT) as to:
        assert await whole(to, "name") == "name"
        await to.channel_ready()
        assert await whole(to, "name") == "name"
        assert sorted(server.paths) == sorted([CARRY, WHOLE])


async def test_an_idle_pipe_does_not_hold_up_a_stop() -> None:
    async with greeting(greeter(), PATIENT) as server:
        to = channel(server.address, CONTRACT)
        await to.channel_ready()
        assert await whole(to, "name") == "name"
        stopping = time.perf_counter()
    assert time.perf_counter() - stopping < 1
    await to.close()


async def test_a_server_that_stops_finishes_its_calls_while_another_gets_the_new_ones() -> None:
    async with two_servers(PATIENT) as (to, stop, leaving, staying):
        reading = await started(to, "wait", 10)
        before = time.perf_counter()
        stopping = asyncio.ensure_future(stop())
        await asyncio.sleep(0.05)
        for number in range(20):
            await whole(to, f"new {number}")
            await asyncio.sleep(0.01)
        assert not stopping.done()
        leaving.free.set()
        assert await asyncio.gather(*reading) == [["0", "1", "2"]] * 10
        await stopping
        assert time.perf_counter() - before < 2
    assert leaving.asked == ["who"]
    assert staying.asked == [f"new {number}" for number in range(20)]


async def test_a_client_that_has_said_everything_is_answered_still() -> None:
    waiting = greeter()
    async with serving(waiting) as server, by_hand(server) as hand:
        await hand.say(opening(1, STREAM, ask("wait")))
        await hand.stream.done_writing()
        await asyncio.sleep(0.02)
        waiting.free.set()
        assert not (await hand.end_of(1)).HasField("error")
        assert await hand.stream.read() is grpc.aio.EOF


async def test_a_pipe_that_opens_while_its_server_leaves_is_told_so() -> None:
    async with serving(greeter()) as server:
        server.leave()
        async with by_hand(server) as hand:
            await hand.say(opening(1, LIST, b""))
            await hand.end_of(1)
            assert any(response.leaving for response in hand.responses)


async def test_a_pipe_that_grew_old_is_replaced_and_no_call_notices() -> None:
    async with serving(greeter(), longest_life=0.2) as server, piped(server) as to:

        async def ask_on(name: str) -> int:
            until = time.perf_counter() + 1.2
            count = 0
            while time.perf_counter() < until:
                assert await whole(to, name) == name
                assert (await texts(to, f"tale {name}"))[3:] == [
                    f"tale {name}, page {page}" for page in range(20)
                ]
                count += 1
            return count

        counts = await asyncio.gather(*(ask_on(f"name {number}") for number in range(5)))
        assert min(counts) > 5
        assert 4 <= server.paths.count(CARRY) <= 12
        await until(lambda: len(server.calls) <= 1)


async def test_a_long_call_outlives_its_pipe() -> None:
    waiting = greeter()
    async with serving(waiting, longest_life=0.05) as server, piped(server) as to:
        (reading,) = await started(to, "wait")
        await asyncio.sleep(0.1)
        assert await whole(to, "new") == "new"
        assert server.calls.count(1) == 1
        waiting.free.set()
        assert await reading == ["0", "1", "2"]


async def test_a_large_request_goes_as_a_call_of_its_own() -> None:
    name = "n" * (LARGEST_REQUEST - 100)
    async with serving(greeter()) as server, piped(server) as to:
        assert await whole(to, name) == name
        assert server.paths == [CARRY]
        assert await whole(to, 2 * name) == 2 * name
        assert server.paths == [CARRY, WHOLE]


async def test_large_answers_arrive_and_too_large_ones_fail_alone() -> None:
    size = 5 * 1024 * 1024
    async with serving(greeter()) as server, piped(server) as to:
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
    async with serving(greeter()) as server, piped(server) as to:
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
        assert max(sizes) < LARGEST_BATCH * 1.1
        assert len(sizes) < 20 * 4


async def test_what_waits_to_be_written_is_written_in_order_and_in_portions() -> None:
    outbox = Outbox[pipe_pb2.CarryRequest](pipe_pb2.CarryRequest)
    sizes = [random.Random(number).choice([0, 10, 300_000, 2_000_000]) for number in range(50)]  # noqa: S311 - no secret
    for number, size in enumerate(sizes):
        outbox.filling(size).frames.add(call=number).open.request = bytes(size)
    outbox.close()
    written: list[pipe_pb2.CarryRequest] = []

    async def write(batch: pipe_pb2.CarryRequest) -> None:
        written.append(batch)

    await outbox.run(write)
    assert [frame.call for batch in written for frame in batch.frames] == [*range(50)]
    assert all(len(b.frames) == 1 or b.ByteSize() < LARGEST_BATCH * 1.1 for b in written)
    assert len(written) < 50


async def test_more_calls_than_a_pipe_takes_open_a_second_one() -> None:
    async with serving(greeter()) as server, piped(server) as to:
        first = await started(to, "hang", FULL)
        assert server.calls == [FULL]
        more = await started(to, "hang", 20)
        await until(lambda: len(pipes_of(to)) == 2)
        more += await started(to, "hang", 20)
        assert sum(server.calls) == FULL + 40
        assert min(server.calls) >= 20
        assert server.paths == [CARRY, CARRY]
        for task in [*first, *more]:
            task.cancel()
        await until(lambda: server.calls == [0, 0], SOON)


async def test_frames_that_make_no_sense_harm_no_other_call() -> None:
    waiting = greeter()
    async with serving(waiting) as server, by_hand(server) as hand:
        frame = pipe_pb2.CallFrame
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
            2: (opening(2, "/heddle.pipe.v1.PipeService/Carry", b""), code_pb2.UNIMPLEMENTED),
            3: (opening(3, "", b""), code_pb2.UNIMPLEMENTED),
            4: (opening(4, LIST, b"", timeout_ms=0), code_pb2.INVALID_ARGUMENT),
            5: (opening(5, STREAM, ask("hang"), timeout_ms=0), code_pb2.INVALID_ARGUMENT),
            6: (pipe_pb2.CallFrame(call=6, open=pipe_pb2.Open()), code_pb2.UNIMPLEMENTED),
            7: (opening(7, LIST, b"", timeout_ms=2**32 - 1), code_pb2.OK),
        }
        await hand.say(*(frame for frame, _ in refused.values()))
        for call, (_, expected) in refused.items():
            assert (await hand.end_of(call)).error.code == expected, call
        assert server.calls == [0]


async def test_boundless_credit_leaves_the_server_to_the_others() -> None:
    async with serving(greeter()) as server, by_hand(server) as hand, piped(server) as to:
        most = 2**32 - 1
        await hand.say(
            opening(1, STREAM, ask("flood"), credit=most),
            opening(2, STREAM, ask("drizzle"), credit=most),
            *[pipe_pb2.CallFrame(call=1, credit=most)] * 1000,
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
        await asyncio.sleep(0.2)
        produced = flooding.flooded
        await asyncio.sleep(0.3)
        assert 0 < produced == flooding.flooded < 20 * 1024
        await hand.say(pipe_pb2.CallFrame(call=1, cancel=True), opening(2, LIST, b""))
        await hand.end_of(2)


async def test_a_client_that_asks_and_does_not_read_is_not_listened_to() -> None:
    asked = greeter()
    async with serving(asked) as server, by_hand(server) as hand:
        for call in range(1, 301):
            await hand.say(opening(call, WHOLE, ask_whole("100000")))
        await asyncio.sleep(0.2)
        assert 0 < len(asked.asked) < 200
        await hand.end_of(300)
        assert len(asked.asked) == 300


async def test_very_many_calls_in_one_request_let_the_others_work() -> None:
    async with serving(greeter()) as server, by_hand(server) as hand, piped(server) as to:
        await hand.say(*(opening(call, LIST, b"") for call in range(1, 30_001)))
        for _ in range(5):
            before = time.perf_counter()
            assert await whole(to, "other") == "other"
            assert time.perf_counter() - before < SOON
        assert max(server.calls) < 1_000


async def test_calls_count_alike_however_they_come_in() -> None:
    exhausted = grpc.StatusCode.RESOURCE_EXHAUSTED
    async with (
        serving(greeter(), max_calls=2) as server,
        piped(server) as to,
        grpc.aio.insecure_channel(server.address, options=OPTIONS) as plain,
    ):
        (one,) = await started(to, "hang")
        (another,) = await started(plain, "hang")
        for way in (to, plain):
            for call in (whole(way, "third"), texts(way, "third")):
                assert await code(call) is exhausted
        another.cancel()
        await asyncio.wait([another])
        await asyncio.sleep(0.05)
        assert await whole(to, "second") == await whole(plain, "second")
        one.cancel()
        assert server.paths.count(CARRY) == 1


async def test_closing_a_channel_ends_its_calls_and_leaves_nothing_running() -> None:
    async with serving(greeter()) as server:
        before = tasks()
        async with piped(server) as to:
            streams = await started(to, "hang", 10)
            asking = [asyncio.create_task(whole(to, "hang")) for _ in range(5)]
            asking += [asyncio.create_task(listed(to, "slow")) for _ in range(5)]
            await until(lambda: server.calls == [20])
        async with asyncio.timeout(SOON):
            codes = [await code(task) for task in [*streams, *asking]]
        assert set(codes) == {grpc.StatusCode.UNAVAILABLE}
        await until(lambda: server.calls == [], SOON)
        await until(lambda: tasks() == before, SOON)


async def act(to: Channel, kind: str, number: int) -> None:
    """Make a call and see that it ends as it must."""
    brief = number / 1000
    match kind:
        case "unary":
            assert await whole(to, f"name {number}") == f"name {number}"
        case "stream":
            pages = await texts(to, f"tale {number}")
            assert pages[3:] == [f"tale {number}, page {page}" for page in range(20)]
        case "large":
            assert len(await whole(to, f"{number}00000")) == number * 100_000
        case "failing":
            assert await code(texts(to, "busy")) is grpc.StatusCode.RESOURCE_EXHAUSTED
        case "late unary":
            assert await code(whole(to, "hang", brief)) is grpc.StatusCode.DEADLINE_EXCEEDED
        case "late stream":
            assert await code(texts(to, "flood", brief)) is grpc.StatusCode.DEADLINE_EXCEEDED
        case "left":
            async with streaming(stream(to, "flood")) as responses:
                reader = aiter(responses)
                for _ in range(number * 20):
                    await anext(reader)
        case "cancelled":
            call = whole(to, "hang") if number % 2 else drained(aiter(stream(to, "hang")))
            task: asyncio.Task[object] = asyncio.create_task(call)
            await asyncio.sleep(brief)
            task.cancel()
            await asyncio.wait([task])
            assert task.cancelled()
        case _:
            raise AssertionError(kind)


KINDS = ["unary", "stream", "large", "failing", "late unary", "late stream", "left", "cancelled"]


@settings(max_examples=10, deadline=None)
@given(
    calls=st.lists(
        st.tuples(st.sampled_from(KINDS), st.integers(1, 40), st.integers(0, 40)),
        min_size=10,
        max_size=60,
    )
)
def test_calls_of_all_kinds_end_as_they_must_whatever_else_goes_on(
    calls: list[tuple[str, int, int]],
) -> None:
    async def begin(to: Channel, kind: str, number: int, delay: int) -> None:
        await asyncio.sleep(delay / 1000)
        await act(to, kind, number)

    async def main() -> None:
        ending = greeter()
        async with serving(ending) as server, piped(server) as to:
            async with asyncio.timeout(10):
                await asyncio.gather(*(begin(to, *call) for call in calls))
            await until(lambda: server.calls == [0], SOON)
            assert (pipes_of(to), server.paths) == ([0], [CARRY])

    uvloop.run(main())  # the loop of every service
