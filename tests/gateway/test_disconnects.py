"""A client that goes away stops the work that was done for it, at once."""

import asyncio
import json

import pytest
from gateway.conftest import KEY, Bench, Start
from gateway.neighbours import text

CLIENTS = 200
AT_ONCE = 20
LATEST_SECONDS = 0.25


def request(*, stream: bool, model: str = "1") -> bytes:
    body = json.dumps(
        {"model": model, "messages": [{"role": "user", "content": "hi"}], "stream": stream}
    ).encode()
    head = (
        "POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\n"
        f"authorization: Bearer {KEY}\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def go_away(bench: Bench, number: int) -> tuple[str, float]:
    """Ask, wait for the answer to begin where it is streamed, close; return who left when."""
    reader, writer = await bench.connect()
    stream = number % 4 != 0  # every fourth waits for a whole answer
    name = f"m{number}"
    writer.write(request(stream=stream, model=name))
    if stream:
        await reader.readuntil(b'"content":"x"')
    else:
        while name not in {asked.assistant_reference for asked in bench.orchestrator.requests}:
            await asyncio.sleep(0.002)
    closed = asyncio.get_running_loop().time()
    writer.transport.abort() if number % 2 else writer.close()
    return name, closed


async def tick(stalls: list[float]) -> None:
    """Note for how long the machine kept this process, clients and all, from running."""
    loop = asyncio.get_running_loop()
    while True:
        before = loop.time()
        await asyncio.sleep(0.005)
        stalls.append(loop.time() - before - 0.005)


@pytest.mark.alone
async def test_every_client_that_leaves_stops_its_run_within_a_quarter_second(bench: Bench) -> None:
    bench.orchestrator.script = [[text("x")], 60.0]
    delays = []
    stalls = [0.0]
    ticker = asyncio.create_task(tick(stalls))
    for first in range(0, CLIENTS, AT_ONCE):
        left = await asyncio.gather(
            *(go_away(bench, number) for number in range(first, first + AT_ONCE))
        )
        async with asyncio.timeout(5):
            while bench.orchestrator.running:
                await asyncio.sleep(0.002)
        delays += [bench.orchestrator.cancelled[name] - closed for name, closed in left]
    assert len(bench.orchestrator.cancelled) == len(delays) == CLIENTS
    ticker.cancel()
    assert max(delays) - max(stalls) < LATEST_SECONDS


async def test_a_client_that_leaves_while_text_flows_stops_its_run(bench: Bench) -> None:
    bench.orchestrator.script = [step for _ in range(2000) for step in ([text("x")], 0.001)]
    await asyncio.gather(*(go_away(bench, 4 * number + 1) for number in range(20)))
    async with asyncio.timeout(2):
        while bench.orchestrator.running:
            await asyncio.sleep(0.002)
    assert len(bench.orchestrator.cancelled) == 20


@pytest.mark.parametrize("stream", [False, True])
async def test_a_complete_answer_is_not_taken_for_a_client_that_left(
    start: Start, stream: bool
) -> None:
    async with start("local") as bench:
        for _ in range(20):
            assert (await bench.chat(stream=stream)).status_code == 200
        assert not bench.orchestrator.cancelled


async def test_a_client_that_reads_slowly_holds_the_run_back(start: Start) -> None:
    async with start("local") as bench:
        batch = [text("x" * 10_000)]
        bench.orchestrator.script = [batch] * 2000
        reader, writer = await bench.connect(limit=1024)
        writer.write(request(stream=True))
        await reader.read(100)
        await asyncio.sleep(0.5)
        assert bench.orchestrator.running == 1  # 20 MB wait in the run, not in the gateway
        writer.transport.abort()
