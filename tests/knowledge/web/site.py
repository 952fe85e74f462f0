"""A web site with hostile pages, which also listens at an address that is not allowed."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import ip_network

from aiohttp import web
from knowledge.opening import Web
from runtime.ports import free_port
from web_server import web_server

ALLOWED = ip_network("127.0.0.1")
FORBIDDEN = "127.0.0.2"
PAGE = "<html><head><title>Looms</title></head><body><p>A shed is a gap.</p></body></html>"
CAPTIONS = """WEBVTT

00:00:01.000 --> 00:00:03.000
Welcome to <b>weaving</b>.

00:01:05.000 --> 00:01:09.000
A shed is a gap &amp; opens.
"""
VIDEO = "abcdefghijk"


@dataclass
class Site:
    """A site and the paths that clients have requested."""

    port: int
    requests: list[str] = field(default_factory=list)
    page: str = PAGE
    cut_short: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a client leaves before the end of a page."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def fetching(self) -> Web:
        """Settings with which the service may fetch from the site, not from `FORBIDDEN`."""
        return Web((ALLOWED,), seconds=1.5, youtube=self.url)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.requests.append(f"{request.host} {request.path_qs}")
        path, private = request.path, f"http://{FORBIDDEN}:{self.port}/page"
        targets = {
            "/moved": "/page",
            "/private": private,
            "/private-late": "/private",
            "/loop": "/loop",
            "/file": "file:///etc/passwd",
            "/password": f"http://ana:secret@127.0.0.1:{self.port}/page",
            "/odd": "http://[::1",
            "/metadata": "http://169.254.169.254/latest/meta-data/",
        }
        if path in targets:
            return web.Response(status=302, headers={"location": targets[path]})
        if path in {"/slow", "/big"}:
            return await self._endless(request, slow=path == "/slow")
        if path == "/watch":
            return self._video(request)
        pages = {
            "/page": web.Response(text=self.page, content_type="text/html"),
            "/notes.md": web.Response(
                body=b"# Reeds\n\nA reed beats.", content_type="application/octet-stream"
            ),
            "/packed": web.Response(text=self.page, headers={"content-encoding": "gzip"}),
            "/image": web.Response(body=b"\x89PNG\r\n", content_type="image/png"),
            "/empty": web.Response(text="", content_type="text/html"),
            "/captions": web.Response(text=CAPTIONS, content_type="text/vtt"),
            "/broken": web.Response(status=500),
        }
        return pages.get(path, web.Response(status=404))

    def _video(self, request: web.BaseRequest) -> web.Response:
        tracks = [
            {"baseUrl": "/captions?lang=de", "languageCode": "de"},
            {"baseUrl": "/captions?lang=en&kind=asr", "languageCode": "en", "kind": "asr"},
            {"baseUrl": "/captions?lang=en-GB", "languageCode": "en-GB"},
        ]
        if request.query["v"] != VIDEO:
            return web.Response(text="<html>var player = {};</html>", content_type="text/html")
        text = f'<script>var player = {{"captionTracks":{json.dumps(tracks)}, "x": 1}};</script>'
        return web.Response(text=text.replace("&", "\\u0026"), content_type="text/html")

    async def _endless(self, request: web.BaseRequest, *, slow: bool) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/plain"})
        await response.prepare(request)
        try:
            while True:
                await response.write(b"a" if slow else b"a" * 2**20)
                await asyncio.sleep(0.05 if slow else 0)
        except (ConnectionError, asyncio.CancelledError):
            self.cut_short.set()
            raise


@asynccontextmanager
async def running_site(port: int = 0) -> AsyncGenerator[Site]:
    """Run a site, on a free port by default."""
    site = Site(port or free_port())
    async with (
        web_server(site.handle, port=site.port),
        web_server(site.handle, FORBIDDEN, site.port),
    ):
        yield site
