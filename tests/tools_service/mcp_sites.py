"""MCP servers to talk to: one of the official SDK, and one that says whatever a test wants."""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from aiohttp import web
from mcp.server import MCPServer
from mcp.server.mcpserver import Image
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import EmbeddedResource, TextContent, TextResourceContents
from starlette.types import ASGIApp, Receive, Scope, Send
from web_server import web_server


@dataclass
class Library:
    """A server with a few tools, which remembers what it was sent."""

    url: str = ""
    description: str = "Finds books."
    authorizations: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    messages: list[dict[str, Any]] = field(default_factory=list)
    cancelled: int = 0
    hangs: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once somebody waits for the tool `hang`."""

    def server(self) -> MCPServer:
        server = MCPServer("library")

        @server.tool(description=self.description)
        def find(title: str, most: int = 3) -> str:
            self.asked.append(title)
            return f"{most} books on {title}"

        @server.tool(name="odd.name.x", description="Has an odd name.")
        def odd() -> str:
            return "odd"

        @server.tool(description="Shows.", structured_output=False)
        def show() -> list[Any]:
            resource = TextResourceContents(uri="file:///a.txt", text="a file's text")
            return [
                TextContent(type="text", text="look:"),
                Image(data=b"\x89PNG", format="png"),
                EmbeddedResource(type="resource", resource=resource),
            ]

        @server.tool(description="Fails.")
        def fail() -> str:
            raise ToolError("no such shelf")

        @server.tool(description="Tells the caller's own secret.")
        def tell() -> str:
            return f"it is {self.authorizations[-1]}"

        @server.tool(description="Long.")
        def long() -> str:
            return "x" * 300_000

        @server.tool(description="Never answers.")
        async def hang() -> str:
            self.hangs.set()
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
            return ""

        return server

    def app(self) -> ASGIApp:
        inner = self.server().streamable_http_app()

        async def noting(scope: Scope, receive: Receive, send: Send) -> None:
            sent = dict(scope.get("headers", ())).get(b"authorization", b"")
            if scope["type"] == "http":
                self.authorizations.append(sent.decode())
            await inner(scope, heard(receive), send)

        def heard(receive: Receive) -> Receive:
            async def noting_message() -> Any:
                event = await receive()
                if event.get("body"):
                    self.messages.append(json.loads(event["body"]))
                return event

            return noting_message

        return noting


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield  # they are for the tests


@asynccontextmanager
async def library(**given: Any) -> AsyncGenerator[Library]:
    """Serve a library on a free port."""
    made = Library(**given)
    listener = socket.create_server(("127.0.0.1", 0))
    made.url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    server = _Server(
        uvicorn.Config(made.app(), log_config=None, ws="none", timeout_graceful_shutdown=1)
    )
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        while not server.started:
            await asyncio.sleep(0.01)
        yield made
    finally:
        server.should_exit = True
        await task


Answer = Callable[[web.Request, dict[str, Any]], Awaitable[web.StreamResponse]]


@dataclass
class Stranger:
    """A server that answers as a test says."""

    answer: Answer
    url: str = ""
    messages: list[dict[str, Any]] = field(default_factory=list)
    gone: int = 0
    """Requests that their client left."""

    async def take(self, request: web.Request) -> web.StreamResponse:
        if request.method != "POST":
            return web.Response(status=405)
        message = await request.json()
        self.messages.append(message)
        try:
            return await self.answer(request, message)
        except asyncio.CancelledError:
            self.gone += 1
            raise


@asynccontextmanager
async def stranger(answer: Answer, *middlewares: Any) -> AsyncGenerator[Stranger]:
    """Serve a stranger on a free port."""
    made = Stranger(answer)
    app = web.Application(middlewares=middlewares)
    app.router.add_route("*", "/mcp", made.take)
    async with web_server(app) as url:
        made.url = f"{url}/mcp"
        yield made


def result(message: dict[str, Any], value: dict[str, Any]) -> web.Response:
    """Return the answer to a request."""
    return web.json_response({"jsonrpc": "2.0", "id": message["id"], "result": value})


def polite(message: dict[str, Any], tools: list[dict[str, Any]]) -> web.Response | None:
    """Return what an ordinary server of the handshake's days answers; None to calls."""
    match message["method"]:
        case "initialize":
            return result(
                message,
                {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "stranger", "version": "1"},
                },
            )
        case "tools/list":
            return result(message, {"tools": tools})
        case "tools/call":
            return None
        case method if method.startswith("notifications/"):
            return web.Response(status=202)
        case _:
            error = {"code": -32601, "message": "Method not found"}
            return web.json_response({"jsonrpc": "2.0", "id": message["id"], "error": error})


def described(name: str = "act", **more: Any) -> dict[str, Any]:
    return {"name": name, "description": "Acts.", "inputSchema": {"type": "object"}, **more}


def event(value: Any) -> bytes:
    return f"event: message\ndata: {json.dumps(value)}\n\n".encode()
