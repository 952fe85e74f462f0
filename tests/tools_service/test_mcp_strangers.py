"""MCP servers that are dead, slow, broken or malicious: each ends in an error that says so."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from heddle_runtime.errors import HeddleError
from loop_pauses import longest_pause
from runtime.examples import sampled
from tools_service.calling import Calling, calling_tools
from tools_service.mcp_calling import answer, failure, listed, pins
from tools_service.mcp_sites import Answer, described, event, polite, result, stranger

MIB = 1024 * 1024


@pytest.fixture
async def tools(tmp_path: Path) -> AsyncIterator[Calling]:
    async with calling_tools(tmp_path) as calling:
        yield calling


def calling(answered: Answer, **tool: Any) -> Answer:
    """Return a server that is polite until its tool `act` is called."""

    async def take(request: web.Request, message: dict[str, Any]) -> web.StreamResponse:
        return polite(message, [described(**tool)]) or await answered(request, message)

    return take


async def fails(tools: Calling, answered: Answer, timeout: float = 10) -> HeddleError:
    """Return what a model reads of a call that a server answers so."""
    async with stranger(calling(answered)) as server:
        config = {"url": server.url, "tools": ["act"]}
        accepted = {**config, "pins": await pins(tools, {"url": server.url})}
        error = await failure(tools, accepted, "act", limit=timeout)
        assert "tools/call" in [message["method"] for message in server.messages]
    assert "127.0.0.1" not in error.message
    return error


async def streaming(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    return response


async def test_a_dead_server_is_told_and_does_not_disturb_the_others(tools: Calling) -> None:
    async def unasked(_: web.Request, __: dict[str, Any]) -> web.StreamResponse:
        raise AssertionError("nobody calls it")

    async with stranger(calling(unasked)) as gone:
        dead = {"url": gone.url, "tools": ["act"]}
    async with stranger(calling(unasked)) as alive:
        living = {"url": alive.url, "tools": ["act"], "pins": await pins(tools, {"url": alive.url})}

        first, second = await listed(tools, dead, living)

    assert "does not answer" in first.error.message
    assert [each.name for each in second.functions] == ["act"]


async def test_a_slow_server_is_given_up_and_left(tools: Calling) -> None:
    async def never(_: web.Request, __: dict[str, Any]) -> web.StreamResponse:
        await asyncio.sleep(60)
        raise AssertionError("nobody waits for it")

    error = await fails(tools, never, timeout=1)

    assert error.code.name in ("UNAVAILABLE", "DEADLINE_EXCEEDED")
    assert "in time" in error.message or "within 1 s" in error.message


async def test_a_stream_that_never_ends_is_left(tools: Calling) -> None:
    async def endless(request: web.Request, _: dict[str, Any]) -> web.StreamResponse:
        response = await streaming(request)
        notice = {"level": "info", "data": "x" * 100_000}
        while True:
            note = {"jsonrpc": "2.0", "method": "notifications/message", "params": notice}
            await response.write(event(note))

    assert "more than 4 MiB" in (await fails(tools, endless)).message


async def test_a_stream_that_trickles_for_ever_is_left(tools: Calling) -> None:
    async def trickling(request: web.Request, _: dict[str, Any]) -> web.StreamResponse:
        response = await streaming(request)
        while True:
            await response.write(b": still here\n\n")
            await asyncio.sleep(0.05)

    assert "within 1 s" in (await fails(tools, trickling, timeout=1)).message


async def test_a_stream_that_breaks_off_is_told(tools: Calling) -> None:
    async def breaking(request: web.Request, _: dict[str, Any]) -> web.StreamResponse:
        return await streaming(request)

    assert "broke off" in (await fails(tools, breaking)).message


async def test_a_giant_answer_is_not_read(tools: Calling) -> None:
    async def giant(_: web.Request, message: dict[str, Any]) -> web.StreamResponse:
        return result(message, {"content": [{"type": "text", "text": "x" * (5 * MIB)}]})

    assert "more than 4 MiB" in (await fails(tools, giant)).message


MANY: dict[str, bytes] = {
    "10,000 tools": json.dumps({"tools": [described(f"t{i}") for i in range(10_000)]}).encode(),
    "a million lists": b'{"tools": [' + b"[]," * 1_000_000 + b"[]]}",
    "a million members": b'{"tools": [], "x": {' + b'"":0,' * 600_000 + b'"":0}}',
}


@pytest.mark.alone
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
@pytest.mark.parametrize("many", MANY)
async def test_an_answer_of_many_values_is_refused_before_it_is_parsed(
    tools: Calling, many: str, kind: str
) -> None:
    body = b'{"jsonrpc": "2.0", "id": %b, "result": %b}'
    body = b"data: " + body + b"\n\n" if kind == "text/event-stream" else body

    async def listing(_: web.Request, message: dict[str, Any]) -> web.StreamResponse:
        if message["method"] == "tools/list":
            answered = body % (json.dumps(message["id"]).encode(), MANY[many])
            return web.Response(body=answered, headers={"content-type": kind})
        return polite(message, []) or web.Response(status=500)

    async with stranger(listing) as server:
        await listed(tools, {"url": server.url})  # loads the SDK
        async with longest_pause() as pause:
            [refused] = await listed(tools, {"url": server.url})

    assert "answers with more than 50,000 values" in refused.error.message
    assert pause.seconds < 0.5  # at most 20 ms of work; the machine may be busy


async def test_a_long_table_in_a_text_is_no_answer_of_many_values(tools: Calling) -> None:
    table = '1,"a",\\\n' * 300_000

    async def csv(_: web.Request, message: dict[str, Any]) -> web.StreamResponse:
        return result(message, {"content": [{"type": "text", "text": table}]})

    async with stranger(calling(csv)) as server:
        accepted = await pins(tools, {"url": server.url})
        config = {"url": server.url, "tools": ["act"], "pins": accepted}
        response = await answer(tools, config, "act")

    assert table[:1000] in response


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
@pytest.mark.parametrize(
    ("sent", "read"),
    [
        (rb"a \ud83d b", "a \ufffd b"),
        (rb"\ud83d\ude00 \\ud83d", "😀 \\ud83d"),
        (b"a \xff b", "a \ufffd b"),
    ],
)
async def test_halves_of_characters_and_odd_bytes_do_not_end_a_call(
    tools: Calling, sent: bytes, read: str, kind: str
) -> None:
    async def half(_: web.Request, message: dict[str, Any]) -> web.StreamResponse:
        text = b'{"type":"text","text":"%b"}' % sent
        body = b'{"jsonrpc":"2.0","id":%d,"result":{"content":[%b]}}' % (message["id"], text)
        body = b"data: " + body + b"\n\n" if kind == "text/event-stream" else body
        return web.Response(body=body, headers={"content-type": kind})

    async with stranger(calling(half)) as server:
        accepted = await pins(tools, {"url": server.url})
        config = {"url": server.url, "tools": ["act"], "pins": accepted}
        assert read in await answer(tools, config, "act")


async def test_a_compressed_answer_is_not_unpacked(tools: Calling) -> None:
    async def bomb(_: web.Request, __: dict[str, Any]) -> web.StreamResponse:
        headers = {"content-encoding": "gzip", "content-type": "application/json"}
        return web.Response(body=gzip.compress(b"[" * 50 * MIB), headers=headers)

    assert "compresses" in (await fails(tools, bomb)).message


@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        b"",
        b"[]",
        b"[" * 100_000,
        b'{"jsonrpc": "2.0", "id": 99, "result": {}}',
        b'{"jsonrpc": "2.0", "result": {"content": 5}}',
        b'{"jsonrpc": "2.0", "result": {"content": [{"type": "new"}]}}',
        b'{"jsonrpc": "2.0", "result": "\\ud800"}',
        b"\xff\xfe",
    ],
)
@pytest.mark.parametrize("kind", sampled(["application/json", "text/event-stream", "text/html"], 1))
async def test_garbage_ends_in_an_error(tools: Calling, body: bytes, kind: str) -> None:
    async def garbled(_: web.Request, message: dict[str, Any]) -> web.StreamResponse:
        text = body.replace(b'"2.0"', f'"2.0", "id": {json.dumps(message["id"])}'.encode(), 1)
        if b'"id": 99' in body:
            text = body
        sent = b"data: " + text + b"\n\n" if kind == "text/event-stream" else text
        return web.Response(body=sent, headers={"content-type": kind})

    error = await fails(tools, garbled, timeout=5)

    assert error.code.name in ("FAILED_PRECONDITION", "UNAVAILABLE")


async def test_only_the_model_reads_what_a_server_complains_of(tools: Calling) -> None:
    async def complaining(_: web.Request, message: dict[str, Any]) -> web.StreamResponse:
        error = {"code": -32000, "message": f"key sk-{'a' * 30} of bob@x.org {'long ' * 9_000}"}
        return web.json_response({"jsonrpc": "2.0", "id": message["id"], "error": error})

    error = await fails(tools, complaining)

    assert error.message.endswith("answers with the error -32000.")
    for_model = error.metadata["details_json"]
    assert "key [redacted] of [redacted] long" in for_model
    assert len(for_model) < 2_600


@pytest.mark.parametrize(
    ("status", "complaint"),
    [
        (401, "credential"),
        (403, "credential"),
        (404, "404"),
        (429, "busy"),
        (500, "answers 500"),
        (503, "answers 503"),
    ],
)
async def test_a_refusal_says_what_to_look_at(tools: Calling, status: int, complaint: str) -> None:
    async def refusing(_: web.Request, __: dict[str, Any]) -> web.StreamResponse:
        return web.Response(status=status, text="no")

    assert complaint in (await fails(tools, refusing)).message


@pytest.mark.parametrize("status", sampled([301, 302, 303, 307, 308], 2))
async def test_a_redirect_to_another_place_is_not_followed(tools: Calling, status: int) -> None:
    async def elsewhere(_: web.Request, __: dict[str, Any]) -> web.StreamResponse:
        raise AssertionError("nobody goes there")

    async with stranger(elsewhere) as inside:

        async def redirecting(_: web.Request, __: dict[str, Any]) -> web.StreamResponse:
            return web.Response(status=status, headers={"location": inside.url})

        assert "redirects" in (await fails(tools, redirecting)).message
        assert not inside.messages


async def test_pages_of_tools_that_never_end_are_left(tools: Calling) -> None:
    async def endless(_: web.Request, message: dict[str, Any]) -> web.StreamResponse:
        if message["method"] == "tools/list":
            return result(message, {"tools": [described()], "nextCursor": "again"})
        return polite(message, []) or web.Response(status=500)

    async with stranger(endless) as server:
        [found] = await listed(tools, {"url": server.url})

    assert "more than 500 tools" in found.error.message


@pytest.mark.parametrize(
    "tool",
    [
        {"description": "x" * 9_000},
        {"inputSchema": {"type": "object", "description": "x" * 70_000}},
    ],
)
async def test_a_tool_of_endless_description_is_held_back(
    tools: Calling, tool: dict[str, Any]
) -> None:
    async def unasked(_: web.Request, __: dict[str, Any]) -> web.StreamResponse:
        raise AssertionError("nobody calls it")

    async with stranger(calling(unasked, **tool)) as server:
        [found] = await listed(tools, {"url": server.url, "tools": ["act"]})

    [held] = found.held_back
    assert not held.pin
    assert "is not shown to models" in held.reason


EVIL = "^(a+)+$"
SLOW = {"type": "object", "properties": {"a": {"type": "string", "pattern": EVIL}}}


async def test_a_strangers_schema_is_not_evaluated(tools: Calling) -> None:
    async def answering(_: web.Request, message: dict[str, Any]) -> web.StreamResponse:
        content = [{"type": "text", "text": "done"}]
        structured = {"a": "a" * 40 + "!"}
        return result(message, {"content": content, "structuredContent": structured})

    slow = calling(answering, inputSchema=SLOW, outputSchema=SLOW)
    async with stranger(slow) as server:
        config = {
            "url": server.url,
            "tools": ["act"],
            "pins": await pins(tools, {"url": server.url}),
        }

        assert await answer(tools, config, "act", a="a" * 40 + "!") == "done"


async def test_a_server_that_asks_for_more_than_arguments_gets_none(tools: Calling) -> None:
    async def asking(request: web.Request, message: dict[str, Any]) -> web.StreamResponse:
        response = await streaming(request)
        parameters = {"messages": [], "maxTokens": 5}
        sampling = {
            "jsonrpc": "2.0",
            "id": 7,
            "method": "sampling/createMessage",
            "params": parameters,
        }
        await response.write(event(sampling))
        content = {"content": [{"type": "text", "text": "done"}]}
        await response.write(event({"jsonrpc": "2.0", "id": message["id"], "result": content}))
        return response

    replies: list[dict[str, Any]] = []

    async def take(request: web.Request, message: dict[str, Any]) -> web.StreamResponse:
        if "method" not in message:
            replies.append(message)
            return web.Response(status=202)
        return await calling(asking)(request, message)

    async with stranger(take) as server:
        config = {
            "url": server.url,
            "tools": ["act"],
            "pins": await pins(tools, {"url": server.url}),
        }
        assert await answer(tools, config, "act") == "done"

    assert all("error" in reply for reply in replies)


async def test_what_was_a_servers_session_is_ended(tmp_path: Path) -> None:
    ended: list[str] = []

    async def unasked(_: web.Request, __: dict[str, Any]) -> web.StreamResponse:
        raise AssertionError("nobody calls it")

    @web.middleware
    async def watching(request: web.Request, handler: Any) -> web.StreamResponse:
        if request.method == "DELETE":
            ended.append(request.headers["mcp-session-id"])
        response: web.StreamResponse = await handler(request)
        response.headers["mcp-session-id"] = "session-1"
        return response

    async with stranger(calling(unasked), watching) as server, calling_tools(tmp_path) as tools:
        await pins(tools, {"url": server.url})
        assert not ended

    assert ended == ["session-1"]
