"""A provider that says what a script says, round by round, over real HTTP."""

import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Delta = Mapping[str, Any]
_USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


@dataclass
class Upstream:
    """Each request gets the next turn, the last one for ever."""

    turns: Sequence[Sequence[Delta]]
    url: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)

    async def complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        turn = self.turns[min(len(self.bodies), len(self.turns) - 1)]
        self.bodies.append(body)
        calls = any("tool_calls" in delta for delta in turn)
        reason = "tool_calls" if calls else "stop"
        if not body.get("stream"):
            return web.json_response(_whole(turn, reason))
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        for delta in turn:
            await response.write(_chunk({"index": 0, "delta": delta, "finish_reason": None}))
        await response.write(_chunk({"index": 0, "delta": {}, "finish_reason": reason}))
        ending = json.dumps({**_HEAD, "choices": [], "usage": _USAGE})
        await response.write(f"data: {ending}\n\ndata: [DONE]\n\n".encode())
        return response


@asynccontextmanager
async def scripted(turns: Sequence[Sequence[Delta]]) -> AsyncGenerator[Upstream]:
    """Serve a script on a free port."""
    upstream = Upstream(turns)
    async with serving(lambda _: upstream) as upstream.url:
        yield upstream


@asynccontextmanager
async def serving(script_of: Callable[[str], Upstream]) -> AsyncGenerator[str]:
    """Serve the script of each model on a free port; yield the base URL."""

    async def complete(request: web.Request) -> web.StreamResponse:
        return await script_of((await request.json())["model"]).complete(request)

    app = web.Application(client_max_size=0)
    app.router.add_post("/v1/chat/completions", complete)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


def says(text: str) -> Delta:
    return {"content": text}


def calls(name: str, arguments: str, index: int = 0, identifier: str = "") -> Delta:
    """Return the beginning of a call, or all of it."""
    function = {"name": name, "arguments": arguments}
    given = {"index": index, "id": identifier or f"c{index}", "type": "function"}
    return {"tool_calls": [{**given, "function": function}]}


def goes_on(arguments: str, index: int = 0) -> Delta:
    """Return the next fragment of a call's arguments."""
    return {"tool_calls": [{"index": index, "function": {"arguments": arguments}}]}


_HEAD = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}


def _chunk(choice: Mapping[str, Any]) -> bytes:
    return f"data: {json.dumps({**_HEAD, 'choices': [choice]})}\n\n".encode()


def _whole(turn: Sequence[Delta], reason: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": None}
    found: dict[int, dict[str, Any]] = {}
    for delta in turn:
        if "content" in delta:
            message["content"] = (message["content"] or "") + delta["content"]
        for call in delta.get("tool_calls", ()):
            if call["index"] not in found:
                found[call["index"]] = json.loads(json.dumps(call))
            else:
                found[call["index"]]["function"]["arguments"] += call["function"]["arguments"]
    if found:
        message["tool_calls"] = list(found.values())
    choice = {"index": 0, "message": message, "finish_reason": reason}
    return {**_HEAD, "object": "chat.completion", "choices": [choice], "usage": _USAGE}
