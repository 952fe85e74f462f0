"""Inputs whose size a stranger chooses do not stop the chats of others (docs/sizing.md).

Everything runs in one event loop, as in one process: the gateway, which answers chats all the time,
and the code of a service that works on the largest input which that code accepts or refuses. The
time is that of the loop's thread, since other processes use the machine as well.
"""

import asyncio
import contextlib
import json
import time
from collections.abc import Awaitable, Callable

import pytest
from gateway.conftest import Bench, gateway
from gateway.neighbours import HELLO
from heddle_connector.completion.reader import CompletionReader
from heddle_connector.http.response import MAX_BODY_BYTES
from heddle_connector.http.sse import SseDecoder
from heddle_connector.toolcalls import ToolCallReader
from heddle_orchestrator.output.events import output_filter
from heddle_orchestrator.output.link_filter import LinkFilter
from heddle_runtime.contract.json_schema import Schema, SchemaError
from heddle_runtime.errors import HeddleError
from heddle_runtime.redaction import redact_personal
from runtime.examples import sampled

LARGEST_BODY = 24 * 1024**2
ALONE_SECONDS = 0.5
MAX_DELAY = 0.2
Work = Callable[[Bench], Awaitable[object]]


def posted(before: bytes, unit: bytes, after: bytes) -> Work:
    body = before + unit * ((LARGEST_BODY - len(before + after)) // len(unit)) + after

    async def post(bench: Bench) -> object:
        return await bench.client.post("/v1/chat/completions", content=body)

    return post


def uploaded(unit: bytes) -> Work:
    content = unit * (LARGEST_BODY // len(unit))

    async def upload(bench: Bench) -> object:
        return await bench.client.post("/v1/files", files={"file": ("a.txt", content)})

    return upload


def called(function: Callable[[], object]) -> Work:
    async def call(_: Bench) -> None:
        await asyncio.sleep(0)
        with contextlib.suppress(HeddleError, SchemaError):
            function()

    return call


def answered(before: str, unit: str, after: str) -> Work:
    body = f'{{"model":"m","choices":[{before}{unit * (MAX_BODY_BYTES // len(unit))}{after}'
    return called(lambda: CompletionReader(calls=True).whole(body.encode()))


def filtered(unit: str) -> Work:
    links = output_filter("example.org")
    assert links is not None

    def work() -> None:
        piece = LinkFilter(links._policy)  # noqa: SLF001 - the filter of one text
        piece.feed(unit * (50_000 // len(unit)))
        piece.finish()

    return called(work)


def read(text: str) -> Work:
    def work() -> None:
        reader = ToolCallReader()
        reader.feed(text)
        reader.finish()

    return called(work)


DEEP = {"allOf": [{"properties": {f"p{i}": {"type": "string"} for i in range(8_000)}}]}
MESSAGE = b'{"model":"1","messages":[{"role":"user","content":"a"}]'
WORKS: dict[str, Work] = {
    "a body of lists": posted(MESSAGE + b',"x":[', b"[],", b"[]]}"),
    "a body of numbers": posted(MESSAGE + b',"x":[', b"1,", b"1]}"),
    "a body of members": posted(MESSAGE + b',"x":{', b'"a":1,', b'"a":1}}'),
    "a body that is no JSON": posted(MESSAGE + b',"x":[', b"[],", b"[]}"),
    "a body of lone surrogates": posted(MESSAGE + b',"x":"', b"\\ud800", b'"}'),
    "an upload": uploaded(b"word "),
    "an upload of line ends": uploaded(b"\r\n-"),
    "an answer of choices": answered("", '{"index":1},', '{"index":0}]}'),
    "an answer of calls": answered('{"message":{"tool_calls":[', '{"id":"a"},', '{"id":"b"}]}}]}'),
    "an answer of odd counts": answered('],"usage":{"x":[', "[],", "[]]}}"),
    "an answer of escapes": answered('{"message":{"content":"', "\\ud83d", '"}}]}'),
    "a stream of line ends": called(lambda: SseDecoder().feed(b"\n" * 256 * 1024)),
    "a text of backquotes": filtered("`"),
    "a text of brackets": filtered("[a](http://b.c/d) "),
    "a text of calls": read('<tool_call>{"name": "f", "arguments": {\n' * 2_500),
    "a text of secrets": called(lambda: redact_personal("password = hunter2 " * 50_000)),
    "a schema": called(lambda: Schema(json.loads(json.dumps(DEEP)))),
}


@pytest.mark.alone
@pytest.mark.parametrize("name", sampled([*WORKS], 2))
async def test_chats_of_others_go_on_while_an_input_is_worked_on(name: str) -> None:
    async with gateway() as bench:
        bench.orchestrator.script = HELLO
        alone = await delays(bench, asyncio.create_task(asyncio.sleep(ALONE_SECONDS)))
        work = asyncio.ensure_future(WORKS[name](bench))
        together = await delays(bench, work)
        await work

    assert p99(together) < p99(alone) + MAX_DELAY


async def delays(bench: Bench, until: "asyncio.Future[object]") -> list[float]:
    """Return the seconds of each chat from now until another task has ended."""
    seconds: list[float] = []
    while len(seconds) < 2 or not until.done():
        begun = time.thread_time()
        response = await bench.chat(stream=False)
        assert response.status_code == 200
        seconds.append(time.thread_time() - begun)
    return seconds


def p99(values: list[float]) -> float:
    return sorted(values)[len(values) * 99 // 100]
