"""Many calls in one pipe: each gets its own, and none holds up another."""

import asyncio
import time

import grpc
import pytest
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.orchestrator.v1 import orchestrator_pb2_grpc as pb_grpc
from heddle_runtime.errors import from_rpc
from heddle_runtime.identity.call_metadata import Caller, calling_as
from heddle_runtime.identity.callers import Identity, TokenSigner
from heddle_runtime.rpc.client import OPTIONS, streaming
from heddle_runtime.rpc.multiplex.call import WINDOW
from heddle_runtime.rpc.multiplex.replica import CALLS_PER_STREAM
from patience import settled, until
from runtime.greeting import CONTRACT
from runtime.multiplex.calling import (
    SOON,
    Channel,
    code,
    greeter,
    started,
    stream,
    texts,
    whole,
)
from runtime.multiplex.serving import CARRY, multiplexed, serving, stream_loads


@pytest.mark.parametrize("count", [CALLS_PER_STREAM - 2, 4 * CALLS_PER_STREAM])
async def test_hundreds_of_calls_at_once_get_their_own_answers_in_order(count: int) -> None:
    async with serving(greeter()) as server, multiplexed(server) as to:
        tales = [f"tale {number}" for number in range(count // 2)]
        names = [f"name {number}" for number in range(count // 2)]
        told = asyncio.gather(*(texts(to, tale) for tale in tales))
        named = asyncio.gather(*(whole(to, name) for name in names))
        await asyncio.sleep(0)
        assert stream_loads(to) == [count]
        pages = range(20)
        assert await told == [["0", "1", "2", *(f"{t}, page {p}" for p in pages)] for t in tales]
        assert await named == names

        assert set(server.paths) == {CARRY}
        assert sum(server.calls) == sum(stream_loads(to)) == 0


async def test_each_call_is_judged_by_its_own_token() -> None:
    secret, refused = "a-secret-of-at-least-32-characters", "UNAUTHENTICATED"
    service = CONTRACT.full_name
    tokens = {name: TokenSigner(secret).token(Identity(name), service) for name in ("ann", "bob")}
    tokens["eve"] = TokenSigner("another secret" * 3).token(Identity("ann"), service)
    tokens["mel"] = TokenSigner(secret).token(Identity("mel"), "heddle.tool.v1.ToolService")

    class Signer(TokenSigner):
        def token(self, identity: Identity, audience: str) -> str:
            own = super().token(identity, audience)
            return tokens.get(identity.subject, "") if audience == service else own

    async def who(to: Channel, name: str) -> str:
        stub = pb_grpc.OrchestratorServiceStub(to)
        request = pb.ListStrategiesRequest()
        try:
            with calling_as(Caller("", Identity(name))):
                response = await stub.ListStrategies(request, timeout=30)
            return str(response.strategies[0].name)
        except grpc.aio.AioRpcError as error:
            return from_rpc(error).reason

    async with serving(greeter(), secret=secret) as server, multiplexed(server, secret) as to:
        to._signer = Signer(secret)  # type: ignore[attr-defined] # noqa: SLF001 - it sends any token
        answers = await asyncio.gather(
            *(who(to, n) for n in ["ann", "eve", "bob", "nobody", "mel"] * 20)
        )

        assert answers == ["ann", refused, "bob", refused, refused] * 20
        assert server.paths == [CARRY]


async def test_calls_count_alike_however_they_come_in() -> None:
    greets = greeter()
    exhausted = grpc.StatusCode.RESOURCE_EXHAUSTED
    async with (
        serving(greets, max_calls=2) as server,
        multiplexed(server) as to,
        grpc.aio.insecure_channel(server.address, options=OPTIONS) as plain,
    ):
        (one,) = await started(to, "hang")
        (another,) = await started(plain, "hang")
        for way in (to, plain):
            for call in (whole(way, "third"), texts(way, "third")):
                assert await code(call) is exhausted
        another.cancel()
        await asyncio.wait([another])
        await until(lambda: greets.ended == ["hang"])
        assert await whole(to, "second") == await whole(plain, "second")
        one.cancel()
        assert server.paths.count(CARRY) == 1


async def test_more_calls_than_a_pipe_takes_open_a_second_one() -> None:
    async with serving(greeter()) as server, multiplexed(server) as to:
        first = await started(to, "hang", CALLS_PER_STREAM)
        assert server.calls == [CALLS_PER_STREAM]
        more = await started(to, "hang", 20)
        await until(lambda: len(stream_loads(to)) == 2)
        more += await started(to, "hang", 20)
        assert sum(server.calls) == CALLS_PER_STREAM + 40
        assert min(server.calls) >= 20
        assert server.paths == [CARRY, CARRY]
        for task in [*first, *more]:
            task.cancel()
        await until(lambda: server.calls == [0, 0], SOON)


async def test_a_reader_that_stops_stops_its_servicer_and_nobody_else() -> None:
    flooding = greeter()
    async with serving(flooding) as server, multiplexed(server) as to:
        stuck = stream(to, "flood")
        await anext(aiter(stuck))
        assert await asyncio.gather(*(whole(to, str(n)) for n in range(50)))
        await until(lambda: flooding.flooded * 1000 > WINDOW * 0.9)
        produced = await settled(lambda: flooding.flooded)
        assert produced * 1000 < WINDOW * 1.1

        for _ in range(2 * WINDOW // 1000):
            await anext(aiter(stuck))
        await until(lambda: flooding.flooded > produced * 2)
        assert await settled(lambda: flooding.flooded) < produced * 4
        assert await texts(to, "tale") != []
        stuck.cancel()
        assert server.paths == [CARRY]


@pytest.mark.parametrize("kind", ["drizzle", "nothing"])
async def test_a_servicer_that_never_waits_lets_the_others_work(kind: str) -> None:
    async with serving(greeter()) as server, multiplexed(server) as to:
        async with streaming(stream(to, kind)) as responses:
            await anext(aiter(responses))
            for _ in range(5):
                before = time.perf_counter()
                await whole(to, "other")
                assert time.perf_counter() - before < SOON
        await until(lambda: server.calls == [0])
