"""A LAMB knowledge-base server over HTTP, as far as its query call goes."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from web_server import web_server


@dataclass
class KnowledgeBaseServer:
    """What the server answers, by collection, and what it was asked."""

    url: str = ""
    answers: dict[str, Any] = field(default_factory=dict)
    """A body, a status, or `web.Response` fields, by the collection's identifier."""
    packing: str = ""
    """The Content-Encoding that answers of bytes are in."""
    delay: float = 0.0
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[Any] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.paths.append(request.raw_path)
        self.headers.append(dict(request.headers))
        self.bodies.append(await request.json() if request.can_read_body else None)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.sleep(self.delay)
        finally:
            self.at_once -= 1
        collection = request.raw_path.removeprefix("/collections/").partition("/")[0]
        answer = self.answers.get(collection, 404)
        if isinstance(answer, int):
            return web.json_response({"detail": "Bearer sk-leaked-leaked-leaked"}, status=answer)
        if isinstance(answer, bytes):
            packed = {"Content-Encoding": self.packing} if self.packing else {}
            return web.Response(body=answer, content_type="application/json", headers=packed)
        if isinstance(answer, str):
            return web.Response(status=307, headers={"Location": answer, "Set-Cookie": "a=b"})
        return web.json_response(answer)


@asynccontextmanager
async def kb_server(**options: Any) -> AsyncGenerator[KnowledgeBaseServer]:
    """Serve on a free port."""
    server = KnowledgeBaseServer(**options)
    async with web_server(server.handle) as server.url:
        yield server


def hit(data: str, similarity: float = 0.5, **metadata: Any) -> dict[str, Any]:
    return {"similarity": similarity, "data": data, "metadata": metadata}
