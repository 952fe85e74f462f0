"""Open-Meteo's geocoder and forecasts over HTTP, with a small world."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from web_server import web_server


def place(name: str, country: str, code: str, **more: Any) -> dict[str, Any]:
    """Return an entry as the geocoder answers it; empty members are left out there."""
    return {
        "id": 2988507,
        "name": name,
        "latitude": 48.85341,
        "longitude": 2.3488,
        "elevation": 42.0,
        "feature_code": "PPLC",
        "country_code": code,
        "timezone": "Europe/Paris",
        "population": 2138551,
        "country_id": 3017382,
        "country": country,
        **more,
    }


@dataclass
class FakeOpenMeteo:
    """What the world looks like, and what was asked."""

    url: str = ""
    places: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """What the geocoder finds, by `language` or `language/name`."""
    current: dict[str, Any] = field(
        default_factory=lambda: {
            "time": "2026-11-22T05:00",
            "interval": 900,
            "temperature_2m": 8.4,
            "weather_code": 61,
        }
    )
    answer: bytes | int | None = None
    """What to answer to everything instead."""
    delay: float = 0.0
    searches: list[Mapping[str, str]] = field(default_factory=list)
    forecasts: list[Mapping[str, str]] = field(default_factory=list)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        await asyncio.sleep(self.delay)
        if isinstance(self.answer, int):
            reason = {"error": True, "reason": "Minutely API request limit exceeded."}
            return web.json_response(reason, status=self.answer)
        if isinstance(self.answer, bytes):
            return web.Response(body=self.answer, content_type="application/json")
        if request.path == "/v1/search":
            self.searches.append(dict(request.query))
            return self._search(request.query)
        assert request.path == "/v1/forecast"
        self.forecasts.append(dict(request.query))
        units = {"time": "iso8601", "temperature_2m": "\u00b0C", "weather_code": "wmo code"}
        found = {"latitude": 48.86, "longitude": 2.3599997, "current_units": units}
        return web.json_response({**found, "current": self.current})

    def _search(self, asked: Mapping[str, str]) -> web.Response:
        if not 0 < int(asked["count"]) <= 100:
            reason = {"error": True, "reason": "Parameter count must be between 1 and 100."}
            return web.json_response(reason, status=400)
        language = asked["language"]
        found = self.places.get(f"{language}/{asked['name']}", self.places.get(language, []))
        answer: dict[str, Any] = {"generationtime_ms": 0.71}
        return web.json_response({"results": found, **answer} if found else answer)


@asynccontextmanager
async def open_meteo(**options: Any) -> AsyncGenerator[FakeOpenMeteo]:
    """Serve both services on a free port."""
    server = FakeOpenMeteo(**options)
    async with web_server(server.handle) as server.url:
        yield server
