"""A server with models that see: multi-vectors of Jina and vLLM, and a chat that takes pictures."""

import base64
import io
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from PIL import Image
from web_server import web_server

DIMENSION = 4
KEY = "key-of-the-eyes"


@dataclass
class VisualSite:
    """What it was asked."""

    url: str = ""
    bodies: list[Any] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    answer: Any = None
    """What to answer instead."""
    status: int = 200

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.paths.append(request.path)
        self.bodies.append(body := await request.json())
        if request.headers.get("Authorization") != f"Bearer {KEY}":
            return web.json_response({"detail": "Unauthorized"}, status=401)
        if self.status != 200 or self.answer is not None:
            return web.json_response(self.answer, status=self.status)
        if request.path == "/v1/embeddings":
            return web.json_response(_jina(body))
        if request.path == "/pooling":
            return web.json_response(_pooled(body))
        return web.json_response(_seen(body))


def _jina(body: Any) -> Any:
    """Answer multi-vectors, and one vector without `return_multivector`, as Jina does."""
    (given,) = body["input"]
    vectors = _vectors(given.get("image"), given.get("text", ""))
    embedded = {"embeddings": vectors} if body.get("return_multivector") else {"embedding": [1, 0]}
    data = [{"object": "embeddings", "index": 0, **embedded}]
    return {"model": body["model"], "object": "list", "usage": {"total_tokens": 9}, "data": data}


def _pooled(body: Any) -> Any:
    if "messages" in body:
        (picture, _) = body["messages"][0]["content"]
        vectors = _vectors(picture["image_url"]["url"].partition(",")[2], "")
    else:
        vectors = _vectors(None, body["input"])
    data = [{"index": 0, "object": "pooling", "data": vectors}]
    return {"id": "pool-1", "object": "list", "model": body["model"], "data": data}


def _seen(body: Any) -> Any:
    asked, picture = body["messages"][-1]["content"]
    size = Image.open(io.BytesIO(base64.b64decode(picture["image_url"]["url"].split(",")[1]))).size
    content = f"A picture of {size[0]} dots across. {asked['text']}"
    message = {"role": "assistant", "content": content}
    return {"object": "chat.completion", "choices": [{"index": 0, "message": message}]}


def _vectors(picture: str | None, text: str) -> list[list[float]]:
    """See whether a page is dark or light; know the words for both."""
    if picture:
        image = Image.open(io.BytesIO(base64.b64decode(picture))).convert("L")
        dark = sum(image.resize((8, 8)).tobytes()) / 64 < 128
        return [[2.0, 0, 0, 0] if dark else [0, 2.0, 0, 0]] * 3
    return [[3.0, 0, 0, 0] if word == "dark" else [0, 3.0, 0, 0] for word in text.split()]


@asynccontextmanager
async def seeing() -> AsyncGenerator[VisualSite]:
    """Serve one."""
    site = VisualSite()
    async with web_server(site.handle) as url:
        site.url = url
        yield site
