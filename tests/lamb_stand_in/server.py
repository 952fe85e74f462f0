"""The stand-in's server.

It serves one of each kind that LAMB serves: the login, routes with a user's token, files in both
directions, redirects and cookies, a stream of events, a page with a WebSocket, and routes that are
slow or break off. With a database it serves LAMB's assistants, too, and what its pages change are
rows of it. Without one, the users and the uploaded files are in memory.
"""

import asyncio
import contextlib
import hashlib
import json
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import BodyPartReader, WSMsgType, web
from web_server import web_server

from lamb_stand_in.creator import PARTS, CreatorRoutes, compact
from lamb_stand_in.page import PAGE
from lamb_stand_in.rows import Rows
from lamb_stand_in.tokens import SECRET, email_of, token

PASSWORD = "a password of LAMB"
PART = bytes(range(256)) * 256
"""64 KiB, of which downloads consist."""
_PAGES = Path(__file__).parent / "pages"


@dataclass
class Lamb:
    """A running stand-in."""

    secret: str = SECRET
    url: str = ""
    users: dict[str, str] = field(default_factory=lambda: {"ann@uni.example": PASSWORD})
    """Passwords by addresses."""
    files: dict[str, tuple[int, str]] = field(default_factory=dict)
    """The sizes and SHA-256 of uploaded files."""
    requests: list[str] = field(default_factory=list)
    """The methods and targets of the requests."""
    open: int = 0
    """Requests that wait or stream."""
    closed_at: float = 0.0
    """When the connection of such a request was last closed, on the clock of the event loop."""
    received: int = 0
    """Bytes of uploads that have arrived."""
    serving: AsyncExitStack = field(default_factory=AsyncExitStack)
    """What `stop` closes."""
    database: Path | None = None
    """LAMB's database, if there is one. Uploaded files are in the folder `files` beside it."""

    @property
    def rows(self) -> Rows:
        """The rows of the database."""
        assert self.database is not None
        return Rows(self.database)

    async def stop(self) -> None:
        """Stop the server."""
        await self.serving.aclose()

    @contextlib.contextmanager
    def busy(self) -> Any:
        """Count a request, and note when its connection is closed."""
        self.open += 1
        try:
            yield
        finally:
            self.open -= 1
            self.closed_at = asyncio.get_running_loop().time()

    async def login(self, request: web.Request) -> web.Response:
        """Return a token for an address and its password."""
        form = await request.post()
        email, password = str(form["email"]), str(form["password"])
        if not self._accepts(email, password):
            return web.json_response({"success": False, "error": "Invalid email or password"})
        return web.json_response(
            {
                "success": True,
                "data": {
                    "token": token(email, self.secret),
                    **_profile(email),
                },
            }
        )

    def _accepts(self, email: str, password: str) -> bool:
        if self.database is not None:
            return self.rows.accepts(email, password)
        return self.users.get(email) == password

    async def me(self, request: web.Request) -> web.Response:
        """Return who the user of a token is."""
        header = request.headers.get("authorization", "")
        if not header:
            return compact({"detail": "Not authenticated"}, 403)
        email = email_of(header, self.secret)
        if not email:
            return compact({"detail": "Invalid or expired authentication token"}, 401)
        return compact({"success": True, "data": _profile(email)})

    async def upload(self, request: web.Request) -> web.Response:
        """Store the size and the digest of an uploaded file."""
        reader = await request.multipart()
        part = await reader.next()
        assert isinstance(part, BodyPartReader)
        digest, size = hashlib.sha256(), 0
        while data := await part.read_chunk(1 << 16):
            digest.update(data)
            size += len(data)
        name = str(part.filename)
        self.files[name] = (size, digest.hexdigest())
        return web.json_response({"path": f"1/{name}", "name": name, "size": size})

    async def sink(self, request: web.Request) -> web.Response:
        """Read a body and return its size and digest."""
        digest = hashlib.sha256()
        self.received = 0
        with self.busy():
            async for data in request.content.iter_any():
                digest.update(data)
                self.received += len(data)
        return web.json_response({"size": self.received, "sha256": digest.hexdigest()})

    async def source(self, request: web.Request) -> web.StreamResponse:
        """Return a body of as many parts as the query says, in chunks or with its length."""
        parts = int(request.query["parts"])
        response = web.StreamResponse()
        if "chunked" in request.query:
            response.enable_chunked_encoding()
        else:
            response.content_length = parts * len(PART)
        with self.busy():
            await response.prepare(request)
            for _ in range(parts):
                await response.write(PART)
            await response.write_eof()
        return response

    async def events(self, request: web.Request) -> web.StreamResponse:
        """Return events until the client leaves."""
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        with self.busy():
            await response.prepare(request)
            number = 0
            while True:
                number += 1
                await response.write(f"data: {number}\n\n".encode())
                await asyncio.sleep(float(request.query.get("pause", "0.02")))

    async def live(self, request: web.Request) -> web.WebSocketResponse:
        """Return each message of a WebSocket."""
        socket = web.WebSocketResponse(protocols=("lamb.v1",), max_msg_size=0)
        with self.busy():
            await socket.prepare(request)
            await socket.send_str("welcome")
            async for message in socket:
                if message.type == WSMsgType.TEXT and message.data == "leave":
                    await socket.close(code=4001, message=b"as you like")
                elif message.type == WSMsgType.TEXT:
                    await socket.send_str(message.data)
                else:
                    await socket.send_bytes(message.data)
        return socket

    async def launch(self, request: web.Request) -> web.Response:
        """Redirect with two cookies, as after an LTI launch."""
        place = "https://chat.uni.example/?token=a%20b#top"
        response = web.Response(status=303, headers={"location": place})
        response.set_cookie("lti", "one", httponly=True, samesite="None", secure=True)
        response.set_cookie("lang", "ca", path="/creator")
        response.set_cookie("heddle_session", "hs_of_somebody_else")
        return response

    async def echo(self, request: web.Request) -> web.Response:
        """Return what has arrived."""
        body = await request.read()
        headers = [[name.decode(), value.decode()] for name, value in request.raw_headers]
        seen = {"method": request.method, "target": request.path_qs, "headers": headers}
        return web.json_response(
            {**seen, "raw_target": str(request.raw_path), "body": body.decode("latin-1")}
        )

    async def slow(self, request: web.Request) -> web.Response:
        """Answer late."""
        with self.busy():
            await asyncio.sleep(float(request.query["seconds"]))
        return web.json_response({"late": True})

    async def broken(self, request: web.Request) -> web.StreamResponse:
        """Break off, before or within the body."""
        assert request.transport is not None
        if "early" in request.query:
            request.transport.abort()
            await asyncio.sleep(1)
        response = web.StreamResponse()
        if "chunked" not in request.query:
            response.content_length = 1000
        await response.prepare(request)
        await response.write(b"the beginning")
        request.transport.close()
        await asyncio.sleep(1)
        return response

    async def parts(self, _: web.Request) -> web.Response:
        """Return what the form of assistants offers."""
        return web.json_response(PARTS)

    async def page(self, _: web.Request) -> web.Response:
        """Return the page of the frontend."""
        return web.Response(text=PAGE, content_type="text/html")

    async def assistants(self, request: web.Request) -> web.FileResponse:
        """Return the page about one assistant or all."""
        name = "assistant" if "id" in request.query else "assistants"
        return web.FileResponse(_PAGES / f"{name}.html")

    async def other(self, request: web.Request) -> web.Response:
        """Return the page for all other addresses, as the frontend's server does."""
        if request.method == "GET" and "." not in request.path:
            return await self.page(request)
        return web.Response(status=404, text=json.dumps({"detail": "Not Found"}))

    def application(self) -> web.Application:
        """Return the application."""

        @web.middleware
        async def noted(request: web.Request, handler: Any) -> web.StreamResponse:
            self.requests.append(f"{request.method} {request.raw_path}")
            return await handler(request)  # type: ignore[no-any-return] # of any handler

        application = web.Application(
            middlewares=[noted], client_max_size=1 << 31, handler_args={"auto_decompress": False}
        )
        router = application.router
        if self.database is not None:
            files = self.database.parent / "files"
            CreatorRoutes(self.rows, self.secret, files).add_to(router)
            router.add_get("/assistants", self.assistants)
            router.add_static("/app", _PAGES)
        router.add_get("/lamb/v1/completions/list", self.parts)
        router.add_post("/creator/login", self.login)
        router.add_get("/creator/me", self.me)
        router.add_post("/creator/files/upload", self.upload)
        router.add_route("*", "/creator/echo", self.echo)
        router.add_route("*", "/creator/assistant/{rest:.*}", self.echo)
        router.add_route("*", "/lamb/v1/echo", self.echo)
        router.add_route("*", "/sink", self.sink)
        router.add_get("/source", self.source)
        router.add_get("/events", self.events)
        router.add_get("/live", self.live)
        router.add_get("/launches/old", self.launch)
        router.add_get("/slow", self.slow)
        router.add_get("/broken", self.broken)
        router.add_get("/", self.page)
        router.add_route("*", "/{rest:.*}", self.other)
        return application


def _profile(email: str) -> dict[str, str | int | None]:
    return {
        "name": email.partition("@")[0].title(),
        "email": email,
        "user_id": 1,
        "role": "user",
        "user_type": "creator",
        "organization_role": None,
        "launch_url": "",
    }


@asynccontextmanager
async def lamb(port: int = 0, **options: Any) -> AsyncGenerator[Lamb]:
    """Yield a running stand-in, on a free port by default."""
    served = Lamb(**options)
    async with served.serving as serving:
        server = web_server(served.application(), port=port)
        served.url = await serving.enter_async_context(server)
        yield served
