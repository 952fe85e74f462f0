"""A closed browser tab: the provider's request ends at once, every time."""

import asyncio
import os
import time
from pathlib import Path

import pytest
from integration.provider import ENDLESS, providing
from integration.whole import Transport, whole, write_assistant

TIMES = int(os.environ.get("HEDDLE_TEST_DISCONNECTS", "200"))
AT_ONCE = 20
LATEST = 0.25
"""Seconds from the client's close to the end of the provider's stream."""


@pytest.mark.alone
@pytest.mark.parametrize("transport", ["grpc", "local"])
async def test_no_provider_stream_outlives_its_client(
    tmp_path: Path, transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_assistant(tmp_path, "1", f"model: {{connector: openai, model: {ENDLESS}}}\n")
    async with providing() as provider:
        monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_BASE_URL", provider.url)
        monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_API_KEY", "test")
        async with whole(tmp_path, transport) as heddle:
            port = int(heddle.url.rpartition(":")[2])
            delays: list[float] = []
            for _ in range(TIMES // AT_ONCE):
                writers = await asyncio.gather(*(_read_some(port) for _ in range(AT_ONCE)))
                provider.closed.clear()
                left = time.perf_counter()
                for writer in writers:
                    writer.transport.abort()
                async with asyncio.timeout(5):
                    while provider.open:
                        await asyncio.sleep(0.005)
                delays += [closed - left for closed in provider.closed]

    assert len(delays) == TIMES
    assert max(delays) < LATEST


async def _read_some(port: int) -> asyncio.StreamWriter:
    """Begin a stream, read until it says something, and return the open connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = b'{"model":"1","stream":true,"messages":[{"role":"user","content":"hi"}]}'
    writer.write(
        b"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\n"
        b"content-type: application/json\r\n"
        b"content-length: %d\r\n\r\n%b" % (len(body), body)
    )
    await reader.readuntil(b'"content":"0')
    return writer
