"""Threat 25: clients that send slowly, or do not read what they asked for."""

import asyncio
import resource
import statistics
import time

import pytest
from gateway.bare_sockets import HEAD, ask
from gateway.conftest import Bench, gateway
from gateway.neighbours import HELLO, text
from gateway.test_disconnects import request

READERS = 20
SOCKETS = 200
TOKENS = 20_000
CHATS = 40


def resident_bytes() -> int:
    """Return the largest memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@pytest.mark.parametrize("stream", [False, True])
async def test_clients_that_do_not_read_cost_little_memory(stream: bool) -> None:
    async with gateway("local") as bench:
        await bench.chat(stream=stream)
        bench.orchestrator.script = [[text("x" * 10_000)]] * (2_000 if stream else 20)
        host, _, port = bench.address.rpartition(":")
        before = resident_bytes()
        writers = []
        for _ in range(READERS):
            reader, writer = await asyncio.open_connection(host, int(port), limit=1024)
            writer.write(request(stream=stream))
            if stream:
                await reader.read(100)
            writers.append(writer)
        await asyncio.sleep(0.5)
        if stream:  # 20 MB for each wait in the runs, not in the gateway
            assert bench.orchestrator.running == READERS
        assert resident_bytes() - before < 20_000_000
        bench.orchestrator.script = HELLO
        assert (await bench.chat(stream=stream)).status_code == 200
        for writer in writers:
            writer.transport.abort()


async def test_slow_clients_do_not_delay_others() -> None:
    async with gateway("local", body_timeout_seconds=15.0) as bench:
        alone = await median_seconds(bench)
        bench.orchestrator.script = [[text("x")] * 100] * (TOKENS // 100)
        host, _, port = bench.address.rpartition(":")
        slow, unsent = [], []
        for _ in range(READERS):
            reader, writer = await asyncio.open_connection(host, int(port), limit=1024)
            writer.write(request(stream=True))
            await reader.readexactly(64)  # the script of its answer is chosen
            slow.append((asyncio.create_task(read_slowly(reader)), writer))
        bench.orchestrator.script = HELLO
        for _ in range(SOCKETS):
            _, writer = await asyncio.open_connection(host, int(port))
            writer.write((HEAD + "content-length: 10\r\n\r\n").encode())
            unsent.append(writer)
        beside = await median_seconds(bench)
        assert not any(task.done() for task, _ in slow)
        for task, writer in slow:
            task.cancel()
            writer.transport.abort()
        for writer in unsent:
            writer.transport.abort()
    assert beside <= max(2 * alone, alone + 0.1)


async def median_seconds(bench: Bench) -> float:
    """Return the median time of a chat."""
    seconds = []
    for number in range(CHATS):
        started = time.perf_counter()
        assert (await bench.chat(stream=number % 2 == 0)).status_code == 200
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)


async def read_slowly(reader: asyncio.StreamReader) -> None:
    """Read 64 bytes each 50 ms until the answer ends."""
    while await reader.read(64):
        await asyncio.sleep(0.05)


async def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    # Long enough for two hundred heads to be read on a busy machine.
    async with gateway(body_timeout_seconds=1.5) as bench:
        head = (HEAD + "content-length: 10\r\n\r\n").encode()
        answers = await asyncio.gather(*(ask(bench, head) for _ in range(200)))
        assert all(answer.startswith(b"HTTP/1.1 408") for answer in answers)
        trickle = await ask(bench, head, b"x", b"x", pause=0.1)
        assert trickle.startswith(b"HTTP/1.1 408")
        assert (await bench.chat()).status_code == 200


async def test_a_head_that_does_not_end_is_not_waited_for() -> None:
    async with gateway(body_timeout_seconds=0.3) as bench:
        assert await ask(bench) == b""
        assert (await ask(bench, b"GET /status HT")).startswith(b"HTTP/1.1 408")
        trickle = await ask(bench, HEAD.encode(), b"a: b\r\n", b"a: b\r\n", pause=0.1)
        assert trickle.startswith(b"HTTP/1.1 408")
        second = await ask(bench, b"GET /status HTTP/1.1\r\nhost: a\r\n\r\nGET /sta")
        assert second.count(b"HTTP/1.1 200") == second.count(b"HTTP/1.1 408") == 1
