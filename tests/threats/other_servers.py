"""Servers of others that tools ask; each answers with the words of the request."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from aiohttp import web
from web_server import web_server


@asynccontextmanager
async def other_servers() -> AsyncGenerator[str]:
    """Serve a geocoder, forecasts, a SearXNG and an echo, and yield their address."""
    application = web.Application()
    application.router.add_get("/v1/search", _places)
    application.router.add_get("/v1/forecast", _forecast)
    application.router.add_get("/search", _search)
    application.router.add_post("/echo", _echo)
    async with web_server(application) as url:
        yield url


async def _places(request: web.Request) -> web.Response:
    name = request.query["name"]
    place = {"name": name, "latitude": 1, "longitude": 2, "feature_code": "PPL"}
    return web.json_response({"results": [place]})


async def _forecast(_: web.Request) -> web.Response:
    return web.json_response({"current": {"temperature_2m": 9.5, "weather_code": 61}})


async def _search(request: web.Request) -> web.Response:
    page = {"title": request.query["q"], "url": "https://weave.example/"}
    return web.json_response({"results": [page]})


async def _echo(request: web.Request) -> web.Response:
    return web.Response(text=await request.text())
