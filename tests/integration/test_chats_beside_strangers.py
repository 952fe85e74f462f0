"""The chats of others while Heddle works on inputs whose size a stranger chooses (docs/sizing.md).

A process of its own chats all the time, and writes how long each chat takes. The times while an
input is worked on are compared with those before, by the clock.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiohttp import web
from integration.processes import MODULES, ONE_PROCESS, processes
from integration.whole import write_assistant
from runtime.examples import PROFILE
from web_server import web_server

pytestmark = [pytest.mark.alone, pytest.mark.timeout(300)]
SECONDS = 1.0 if PROFILE == "reduced" else 2.0
MAX_DELAY = 0.2
LARGEST_BODY = 24 * 1024**2
LARGEST_ANSWER = 15 * 1024**2
CLIENT = """
import http.client, json, sys, time
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
body = json.dumps({"model": "1", "messages": [{"role": "user", "content": "hello"}]})
while True:
    begun = time.monotonic()
    connection.request("POST", "/v1/chat/completions", body, {"content-type": "application/json"})
    response = connection.getresponse()
    response.read()
    assert response.status == 200, response.status
    print(begun, time.monotonic() - begun, flush=True)
    time.sleep(0.003)
"""
FUNCTION = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
PROPERTIES = {f"p{number}": {"type": "string"} for number in range(8_000)}
LARGE_FUNCTION = {"name": "g", "parameters": {"type": "object", "properties": PROPERTIES}}
TEXTS = {
    "words": "word and another word, ",
    "calls": '<tool_call>{"name": "f", "arguments": {\n',
    "backquotes": "`",
    "links": "[a](http://b.c/d) ",
    "angles": "<",
}
"""What models answer, repeated to the largest size."""
Use = Callable[[httpx.AsyncClient], Awaitable[object]]


def body(before: str, unit: str, after: str) -> Use:
    start = b'{"model":"1","messages":[{"role":"user","content":"a"}],"x":' + before.encode()
    content = start + unit.encode() * (LARGEST_BODY // len(unit)) + after.encode() + b"}"
    return lambda client: client.post("/v1/chat/completions", content=content)


def upload(unit: bytes) -> Use:
    content = unit * (LARGEST_BODY // len(unit))
    return lambda client: client.post("/v1/files", files={"file": ("a.txt", content)})


def chat(model: str, **more: Any) -> Use:
    message = {"role": "user", "content": "a"}
    return lambda client: client.post(
        "/v1/chat/completions", json={"model": model, "messages": [message], **more}
    )


INPUTS: dict[str, Use] = {
    "a body of lists": body("[", "[],", "[]]"),
    "a body of lone surrogates": body('"', "\\ud800", '"'),
    "an upload of line ends": upload(b"\r\n-"),
    "a large function": chat("1", tools=[{"type": "function", "function": LARGE_FUNCTION}]),
    "an answer of choices": chat("choices"),
    **{f"an answer of {name}": chat(name, tools=[FUNCTION]) for name in TEXTS},
    **{f"a stream of {name}": chat(name, tools=[FUNCTION], stream=True) for name in TEXTS},
}
FEW = [*INPUTS] if PROFILE == "nightly" else ["a body of lists", "an answer of links"]
"""What others send where each service has a process of its own, so that it can hold up less."""
CHOSEN = FEW[:1] if PROFILE == "reduced" else [*INPUTS]


def answer(model: str) -> bytes:
    """Return the body of a provider's answer."""
    if model == "choices":
        return b'{"model":"m","choices":[' + b'{"index":1},' * (LARGEST_ANSWER // 12) + b"{}]}"
    text = TEXTS[model] * (LARGEST_ANSWER // 2 // len(TEXTS[model]))
    message = {"role": "assistant", "content": text}
    return json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()


async def provide(request: web.BaseRequest) -> web.StreamResponse:
    asked = json.loads(await request.read())
    if not asked.get("stream"):
        return web.Response(body=answer(asked["model"]), content_type="application/json")
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    text = TEXTS[asked["model"]]
    delta = {"choices": [{"delta": {"content": text * (20_000 // len(text))}}]}
    event = f"data: {json.dumps(delta)}\n\n".encode()
    for _ in range(100):
        await response.write(event)
    await response.write(b"data: [DONE]\n\n")
    return response


@contextmanager
def chatting(port: int, folder: Path) -> Iterator[Path]:
    """Let a process chat; yield the file with the begin and the seconds of each chat."""
    times = folder / "times"
    with times.open("wb") as file:
        command = [sys.executable, "-c", CLIENT, str(port)]
        client = subprocess.Popen(command, stdout=file)  # noqa: S603 - our own
    try:
        yield times
        assert client.poll() is None, "the client of the measurement has stopped"
    finally:
        client.kill()
        client.wait()


@asynccontextmanager
async def strangers(folder: Path, modules: Sequence[str]) -> AsyncGenerator[tuple[int, Path]]:
    write_assistant(folder, "1", "model: {connector: bypass, model: simple-bypass}\n")
    for model in ("choices", *TEXTS):
        document = f"model: {{connector: openai, model: {model}}}\noutput_hosts: example.org\n"
        write_assistant(folder, model, document)
    async with (
        web_server(provide) as url,
        processes(
            folder,
            modules,
            HEDDLE_CONNECTOR_OPENAI_BASE_URL=url,
            HEDDLE_CONNECTOR_OPENAI_API_KEY="test",
        ) as running,
    ):
        port = running.ports["heddle_gateway"]
        with chatting(port, folder) as times:
            yield port, times


def p99(times: Path, begun: float, ended: float) -> float:
    """Return the time of the slowest hundredth of the chats in an interval."""
    lines = [line.split() for line in times.read_text().splitlines()[:-1]]
    chats = [(float(start), float(seconds)) for start, seconds in lines]
    during = sorted(each for start, each in chats if start < ended and start + each > begun)
    assert len(during) >= 5
    return during[len(during) * 99 // 100]


@pytest.mark.exhaustive
@pytest.mark.parametrize("modules", [ONE_PROCESS, (*MODULES,)], ids=["one process", "processes"])
async def test_chats_of_others_are_hardly_slower(tmp_path: Path, modules: Sequence[str]) -> None:
    slower: dict[str, float] = {}
    chosen = CHOSEN if modules == ONE_PROCESS else FEW
    async with strangers(tmp_path, modules) as (port, times):
        url = f"http://127.0.0.1:{port}"
        await asyncio.sleep(1)
        begun = time.monotonic()
        await asyncio.sleep(SECONDS)
        alone = p99(times, begun, time.monotonic())
        async with httpx.AsyncClient(base_url=url, timeout=60) as client:
            for name in chosen:
                begun = time.monotonic()
                while time.monotonic() < begun + SECONDS:
                    await INPUTS[name](client)
                ended = time.monotonic()
                await asyncio.sleep(0.5)  # until the chats that were under way are written
                slower[name] = p99(times, begun, ended) - alone
    assert {name: delay for name, delay in slower.items() if delay >= MAX_DELAY} == {}
