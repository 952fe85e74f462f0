"""A provider that says what a script says, round by round, over real HTTP."""

import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from web_server import web_server

Delta = Mapping[str, Any]
Body = Mapping[str, Any]
Script = Sequence[Sequence[Delta]] | Callable[[Body], Sequence[Delta]]
"""A turn for each request, the last one for ever; or the turn that answers a request."""
_USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


@dataclass
class Upstream:
    """Answers as its script says."""

    turns: Script
    refuses: Callable[[Body], str] = lambda _: ""
    """Says why a request is wrong."""
    url: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)

    async def complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        turn = self._turn(body)
        self.bodies.append(body)
        if why := self.refuses(body):
            return web.json_response({"error": {"message": why}}, status=400)
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

    def _turn(self, body: Body) -> Sequence[Delta]:
        if callable(self.turns):
            return self.turns(body)
        return self.turns[min(len(self.bodies), len(self.turns) - 1)]


@asynccontextmanager
async def scripted(
    turns: Script, refuses: Callable[[Body], str] = lambda _: ""
) -> AsyncGenerator[Upstream]:
    """Serve a script on a free port."""
    upstream = Upstream(turns, refuses)
    async with serving(lambda _: upstream) as upstream.url:
        yield upstream


@asynccontextmanager
async def serving(script_of: Callable[[str], Upstream]) -> AsyncGenerator[str]:
    """Serve the script of each model on a free port; yield the base URL."""

    async def complete(request: web.Request) -> web.StreamResponse:
        return await script_of((await request.json())["model"]).complete(request)

    app = web.Application(client_max_size=0)
    app.router.add_post("/v1/chat/completions", complete)
    async with web_server(app) as url:
        yield f"{url}/v1"


def says(text: str) -> Delta:
    return {"content": text}


def calls(name: str, arguments: str, index: int = 0, identifier: str = "") -> Delta:
    """Return the beginning of a call, or all of it."""
    function = {"name": name, "arguments": arguments}
    members = {"index": index, "id": identifier or f"c{index}", "type": "function"}
    return {"tool_calls": [{**members, "function": function}]}


def goes_on(arguments: str, index: int = 0) -> Delta:
    """Return the next fragment of a call's arguments."""
    return {"tool_calls": [{"index": index, "function": {"arguments": arguments}}]}


_HEAD = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}


def _chunk(choice: Mapping[str, Any]) -> bytes:
    return f"data: {json.dumps({**_HEAD, 'choices': [choice]})}\n\n".encode()


def _whole(turn: Sequence[Delta], reason: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": None}
    for delta in turn:
        _join(message, {name: it for name, it in delta.items() if name != "tool_calls"})
        for call in delta.get("tool_calls", ()):
            calls = message.setdefault("tool_calls", [])
            if call["index"] == len(calls):
                calls.append({})
            rest = {name: it for name, it in call.items() if name not in ("index", "function")}
            _join(calls[call["index"]], rest)
            _join(calls[call["index"]].setdefault("function", {}), call.get("function", {}))
    choice = {"index": 0, "message": message, "finish_reason": reason}
    return {**_HEAD, "object": "chat.completion", "choices": [choice], "usage": _USAGE}


def _join(whole: dict[str, Any], piece: Mapping[str, Any]) -> None:
    """Add a piece to what is there: text and lists go on, everything else is there once."""
    for name, more in piece.items():
        before = whole.get(name)
        whole[name] = before + more if isinstance(before, str | list) else more
