"""A provider that answers as scripted, writes titles, and embeds texts by their words."""

import asyncio
import hashlib
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from web_server import web_server

ANSWER = "It is called a shed."
TITLE = "Threads and sheds"
ENDLESS = "endless"
"""A model that answers until its client leaves."""
FAILING = "failing"
"""A model that is overloaded."""
BREAKING = "breaking"
"""A model that fails after its first word."""
TASK = "### Task:\n"
_DIMENSIONS = 256
_WORD = re.compile(r"\w+")


@dataclass
class Model:
    """What it was asked."""

    url: str = ""
    answer: str = ANSWER
    chats: list[dict[str, Any]] = field(default_factory=list)
    """Bodies of requests that are no tasks of Open WebUI."""
    tasks: list[dict[str, Any]] = field(default_factory=list)
    left: asyncio.Event = field(default_factory=asyncio.Event)
    """Whether a client left before the end of an answer."""

    async def complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        if _prompt(body).startswith(TASK) and not body.get("stream"):
            self.tasks.append(body)
            return _whole(json.dumps({"title": TITLE}))
        self.chats.append(body)
        if body["model"] == FAILING:
            error = {"message": "overloaded at 10.0.0.7:4711", "type": "server_error"}
            return web.json_response({"error": error}, status=500)
        if not body.get("stream"):
            return _whole(self.answer)
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        try:
            await self._stream(response, body["model"])
        except (ConnectionError, asyncio.CancelledError):
            self.left.set()
            raise
        return response

    async def _stream(self, response: web.StreamResponse, model: str) -> None:
        words = self.answer.split(" ")
        at = 0
        while model == ENDLESS or at < len(words):
            if model == BREAKING and at:
                error = json.dumps({"error": {"message": "overloaded", "type": "server_error"}})
                await response.write(f"data: {error}\n\n".encode())
                return
            text = f"{words[at % len(words)]} "
            await response.write(_chunk({"content": text}))
            at += 1
            await asyncio.sleep(0.05)
        await response.write(_chunk({}, "stop") + b"data: [DONE]\n\n")

    async def embed(self, request: web.Request) -> web.Response:
        body = await request.json()
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        data = [
            {"object": "embedding", "index": index, "embedding": _vector(text)}
            for index, text in enumerate(texts)
        ]
        return web.json_response({"object": "list", "model": "words", "data": data})


@asynccontextmanager
async def serving() -> AsyncIterator[Model]:
    """Serve the provider on a free port."""
    model = Model()
    app = web.Application()
    app.router.add_post("/v1/chat/completions", model.complete)
    app.router.add_post("/v1/embeddings", model.embed)
    async with web_server(app) as url:
        model.url = f"{url}/v1"
        yield model


def _prompt(body: dict[str, Any]) -> str:
    content = body["messages"][-1]["content"]
    return content if isinstance(content, str) else json.dumps(content)


def _whole(text: str) -> web.Response:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return web.json_response({"id": "x", "object": "chat.completion", "choices": [choice]})


def _chunk(delta: dict[str, str], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    chunk = {"id": "x", "object": "chat.completion.chunk", "created": 1, "choices": [choice]}
    return f"data: {json.dumps(chunk)}\n\n".encode()


def _vector(text: str) -> list[float]:
    """Return the counts of a text's words, each at the place of its hash."""
    vector = [0.0] * _DIMENSIONS
    for word in _WORD.findall(text.casefold()):
        digest = hashlib.sha256(word.encode()).digest()
        vector[int.from_bytes(digest[:4]) % _DIMENSIONS] += 1.0
    length = sum(value * value for value in vector) ** 0.5 or 1.0
    return [value / length for value in vector]
