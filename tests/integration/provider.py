"""A small provider that speaks OpenAI's protocol over real HTTP, and remembers its callers."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from web_server import web_server

ENDLESS = "endless"
SLOW = "slow"
STALLED = "stalled"
"""Models that never stop, that take two seconds for twenty tokens, and that stop in mid-answer."""


@dataclass
class Provider:
    """What was asked, and when its streams ended."""

    url: str = ""
    models: tuple[str, ...] = ("m",)
    """What it lists; it answers for all others as well, except the missing ones."""
    missing: tuple[str, ...] = ()
    bodies: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    delay: float = 0.0
    """Seconds until an answer begins."""
    open: int = 0
    closed: list[float] = field(default_factory=list)

    async def offer(self, request: web.Request) -> web.Response:
        self.keys.append(request.headers.get("authorization", ""))
        data = [{"id": name, "object": "model"} for name in self.models]
        return web.json_response({"object": "list", "data": data})

    async def complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.bodies.append(body)
        self.keys.append(request.headers.get("authorization", ""))
        if body["model"] in self.missing:
            refusal = {"message": "There is no such model.", "code": "model_not_found"}
            return web.json_response({"error": refusal}, status=404)
        if not body.get("stream") and body["model"] != STALLED:
            await asyncio.sleep(self.delay)
            return web.json_response(_whole(body))
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        self.open += 1
        try:
            await response.prepare(request)
            await asyncio.sleep(self.delay)
            await self._stream(body, response)
        finally:
            self.open -= 1
            self.closed.append(time.perf_counter())
        return response

    async def _stream(self, body: dict[str, Any], response: web.StreamResponse) -> None:
        model = body["model"]
        number = 0
        while model == ENDLESS or number < 20:
            if model == STALLED and number:
                await asyncio.sleep(3600)
            await response.write(_chunk(model, {"content": f"{number} "}))
            number += 1
            if model in (ENDLESS, SLOW):
                await asyncio.sleep(0.05 if model == ENDLESS else 0.1)
        await response.write(_chunk(model, {}, "stop"))
        usage = {"prompt_tokens": 3, "completion_tokens": 20, "total_tokens": 23}
        ending = {**_head(model), "choices": [], "usage": usage}
        await response.write(f"data: {json.dumps(ending)}\n\ndata: [DONE]\n\n".encode())


@asynccontextmanager
async def providing() -> AsyncGenerator[Provider]:
    """Serve a provider on a free port."""
    provider = Provider()
    app = web.Application()
    app.router.add_post("/v1/chat/completions", provider.complete)
    app.router.add_get("/v1/models", provider.offer)
    async with web_server(app) as url:
        provider.url = f"{url}/v1"
        yield provider


def _head(model: str) -> dict[str, Any]:
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": model}


def _chunk(model: str, delta: dict[str, str], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return f"data: {json.dumps({**_head(model), 'choices': [choice]})}\n\n".encode()


def _whole(body: dict[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", "content": "Hello from the provider."}
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8},
    }
