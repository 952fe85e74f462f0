"""LAMB's library server over HTTP, as far as the contents of documents go."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

from aiohttp import web
from web_server import web_server

TOKEN = "library-token"
Answer = str | int
"""The text of a document, or a status."""


@asynccontextmanager
async def library_server(answers: Mapping[str, Answer]) -> AsyncGenerator[str]:
    """Serve documents by `library/item` on a free port, and yield the address."""

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return web.Response(status=401)
        match request.path.strip("/").split("/"):
            case "libraries", library, "items", item, "content":
                answer = answers.get(f"{library}/{item}", 404)
            case _:
                answer = 404
        if request.query.get("format") != "markdown" or isinstance(answer, int):
            return web.Response(status=answer if isinstance(answer, int) else 400)
        return web.Response(text=answer)

    async with web_server(handle) as url:
        yield url
