"""Calls of all kinds at once."""

import asyncio

import grpc
import uvloop
from heddle_runtime.rpc.client import streaming
from hypothesis import given
from hypothesis import strategies as st
from patience import until
from runtime.examples import examples
from runtime.multiplex.calling import SOON, Channel, code, drained, greeter, stream, texts, whole
from runtime.multiplex.serving import CARRY, multiplexed, serving, stream_loads

KINDS = ["unary", "stream", "large", "failing", "late unary", "late stream", "left", "cancelled"]


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


@examples(10)
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
        async with serving(ending) as server, multiplexed(server) as to:
            async with asyncio.timeout(30):
                await asyncio.gather(*(begin(to, *call) for call in calls))
            await until(lambda: server.calls == [0], SOON)
            assert (stream_loads(to), server.paths) == ([0], [CARRY])

    uvloop.run(main())  # the loop of every service
