"""`python -m benchmarks.messages_client`: the cost of a streamed token of Anthropic's API.

It compares Heddle's own client with the package `anthropic`.

A server in another process streams the same answers to the connector `anthropic` and to the
package `anthropic`. The rounds alternate. Printed are the medians of the CPU time per token.
"""

import asyncio
import json
import multiprocessing
import statistics
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from multiprocessing.connection import Connection
from pathlib import Path

from anthropic import AsyncAnthropic
from heddle_connector.connectors.anthropic.connector import Anthropic, AnthropicSettings
from heddle_connector.http import http_client
from heddle_connector.sdk.testing.runner import make_call
from pydantic import SecretStr

TOKENS = 2000
STREAMS = 4
ROUNDS = 5
_SECONDS_BETWEEN_TOKENS = 0.0002
Answer = Callable[[], Awaitable[None]]


def main() -> None:
    """Print the table."""
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.Process(target=_run_server, args=(theirs,), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{ours.recv()}"
    costs: dict[str, list[float]] = {"Heddle": [], "anthropic": []}
    for _ in range(ROUNDS):
        costs["Heddle"].append(asyncio.run(_cost(_heddle, url)))
        costs["anthropic"].append(asyncio.run(_cost(_official, url)))
    server.terminate()
    for name, each in costs.items():
        print(f"{name:10} {statistics.median(each):6.1f} µs of CPU per token")


async def _cost(client: Callable[[str], "AsyncGenerator[Answer]"], url: str) -> float:
    """Return the microseconds of CPU time per token."""
    async with asynccontextmanager(client)(url) as answer:
        await answer()
        begin = time.process_time()
        await asyncio.gather(*(answer() for _ in range(STREAMS)))
        return (time.process_time() - begin) / (TOKENS * STREAMS) * 1e6


async def _heddle(url: str) -> AsyncGenerator[Answer]:
    async with http_client(5.0) as http:
        connector = Anthropic(AnthropicSettings(base_url=url, api_key=SecretStr("key")), http)

        async def answer() -> None:
            async for _ in connector.generate(make_call(Anthropic, "Hello", "m", Path())):
                pass

        yield answer


async def _official(url: str) -> AsyncGenerator[Answer]:
    async with AsyncAnthropic(base_url=url, api_key="key") as client:

        async def answer() -> None:
            stream = await client.messages.create(
                model="m",
                max_tokens=TOKENS,
                messages=[{"role": "user", "content": "Hello"}],
                stream=True,
            )
            async for _ in stream:
                pass

        yield answer


def _run_server(port: Connection) -> None:
    asyncio.run(_serve_forever(port))


async def _serve_forever(port: Connection) -> None:
    server = await asyncio.start_server(_serve, "127.0.0.1", 0)
    port.send(server.sockets[0].getsockname()[1])
    async with server:
        await server.serve_forever()


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    message = {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "m"}
    usage = {"input_tokens": 1, "output_tokens": TOKENS}
    block = {"type": "text", "text": ""}
    token = _event("content_block_delta", index=0, delta={"type": "text_delta", "text": " token"})
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            _, _, length = head.lower().partition(b"content-length:")
            await reader.readexactly(int(length.split()[0]))
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n")
            writer.write(b"transfer-encoding: chunked\r\n\r\n")
            writer.write(_event("message_start", message={**message, "usage": usage}))
            writer.write(_event("content_block_start", index=0, content_block=block))
            for _ in range(TOKENS):
                writer.write(token)
                await writer.drain()
                await asyncio.sleep(_SECONDS_BETWEEN_TOKENS)
            writer.write(_event("content_block_stop", index=0))
            end = {"stop_reason": "end_turn", "stop_sequence": None}
            writer.write(_event("message_delta", delta=end, usage=usage))
            writer.write(_event("message_stop") + b"0\r\n\r\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


def _event(kind: str, **members: object) -> bytes:
    """Return an event as a part of a chunked body."""
    data = f"event: {kind}\ndata: {json.dumps({'type': kind, **members})}\n\n".encode()
    return b"%x\r\n%b\r\n" % (len(data), data)


if __name__ == "__main__":
    main()
