"""Perplexity, Tavily, Brave and SearXNG over HTTP, as their own references show them."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from aiohttp import web
from web_server import web_server

PROVIDERS = ("perplexity", "tavily", "brave", "searxng")
URL = "https://weave.example/sheds"


@dataclass
class SearchSites:
    """All four at one address, and the requests that they got."""

    url: str = ""
    key: str = "key-of-the-right-organisation"
    answer: int | bytes | None = None
    """What to answer to everything instead: a status, or a body."""
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    nothing: bool = False
    requests: list[web.BaseRequest] = field(default_factory=list)
    bodies: list[Any] = field(default_factory=list)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.requests.append(request)
        self.bodies.append(await request.json() if request.can_read_body else None)
        await asyncio.sleep(self.delay)
        if isinstance(self.answer, bytes):
            return web.Response(body=self.answer, content_type="application/json")
        kind = _provider(request)
        if self.answer is not None:
            return web.json_response(
                kind.error(self.answer, self.key), status=self.answer, headers=self.headers
            )
        if not kind.is_authorized(request, self.key):
            return web.json_response(kind.error(401, self.key), status=kind.unauthorized)
        return web.json_response(kind.answer(nothing=self.nothing))


class _Provider(Protocol):
    unauthorized: int

    def is_authorized(self, request: web.BaseRequest, key: str) -> bool: ...

    def error(self, status: int, key: str) -> Any: ...

    def answer(self, *, nothing: bool) -> Any: ...


def _provider(request: web.BaseRequest) -> _Provider:
    if request.path == "/chat/completions":
        return _Perplexity()
    if request.path == "/res/v1/web/search":
        return _Brave()
    return _Tavily() if request.method == "POST" else _SearXng()


class _Perplexity:
    unauthorized = 401

    def is_authorized(self, request: web.BaseRequest, key: str) -> bool:
        return request.headers.get("Authorization") == f"Bearer {key}"

    def error(self, status: int, key: str) -> Any:
        about = {"message": f"Cannot serve {key}.", "type": "invalid_request", "code": status}
        return {"error": about}

    def answer(self, *, nothing: bool) -> Any:
        found = [
            {"title": "Sheds", "url": URL, "date": "2026-03-01", "snippet": "The gap."},
            {"title": "Looms", "url": "https://weave.example/looms", "date": None},
        ]
        message = {"role": "assistant", "content": "A shed is a gap[1]."}
        return {
            "id": "3c90c3cc",
            "model": "sonar",
            "created": 1795344000,
            "usage": {"prompt_tokens": 5, "completion_tokens": 9, "total_tokens": 14},
            "object": "chat.completion",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": message,
                    "delta": {"role": "assistant", "content": ""},
                }
            ],
            "citations": [] if nothing else [URL, "https://weave.example/looms"],
            "search_results": [] if nothing else found,
        }


class _Tavily(_Perplexity):
    unauthorized = 401

    def error(self, status: int, key: str) -> Any:
        return {"detail": {"error": f"Cannot serve {key}."}}

    def answer(self, *, nothing: bool) -> Any:
        found = {"title": "Sheds", "url": URL, "content": "The gap.", "score": 0.9}
        return {
            "query": "sheds",
            "follow_up_questions": None,
            "answer": None if nothing else "A shed is a gap.",
            "images": [],
            "results": [] if nothing else [{**found, "raw_content": None}],
            "response_time": 1.09,
            "request_id": "123e4567",
        }


class _Brave:
    unauthorized = 422

    def is_authorized(self, request: web.BaseRequest, key: str) -> bool:
        return request.headers.get("X-Subscription-Token") == key

    def error(self, status: int, key: str) -> Any:
        about = {
            "id": "a3e1",
            "status": status,
            "code": "SUBSCRIPTION_TOKEN_INVALID",
            "detail": f"Cannot serve {key}.",
            "meta": {"component": "authentication"},
        }
        return {"type": "ErrorResponse", "error": about, "time": 1795344000}

    def answer(self, *, nothing: bool) -> Any:
        query = {"original": "sheds", "more_results_available": False}
        if nothing:  # then there is no `web` at all
            return {"type": "search", "query": query, "mixed": {"type": "mixed", "main": []}}
        found = {
            "title": "Sheds",
            "url": URL,
            "description": "The <strong>gap</strong> &amp; more.",
            "page_age": "2026-03-01T10:00:00",
            "age": "March 1, 2026",
            "type": "search_result",
            "subtype": "generic",
        }
        return {"type": "search", "query": query, "web": {"type": "search", "results": [found]}}


class _SearXng:
    unauthorized = 403

    def is_authorized(self, request: web.BaseRequest, key: str) -> bool:
        return request.query.get("format") == "json"

    def error(self, status: int, key: str) -> Any:
        return f"Cannot serve {key}."

    def answer(self, *, nothing: bool) -> Any:
        found = {
            "url": URL,
            "title": "Sheds",
            "content": "The gap.",
            "publishedDate": "2026-03-01T00:00:00",
            "engine": "duckduckgo",
            "engines": ["duckduckgo"],
            "positions": [1],
            "score": 1.0,
            "category": "general",
        }
        instant = {"answer": "A shed is a gap.", "url": URL, "engine": "ddg definitions"}
        return {
            "query": "sheds",
            "number_of_results": 0,
            "results": [] if nothing else [found, {**found, "url": "javascript:alert(1)"}],
            "answers": [] if nothing else [instant],
            "corrections": [],
            "infoboxes": [],
            "suggestions": [],
            "unresponsive_engines": [],
        }


@asynccontextmanager
async def search_sites(**options: Any) -> AsyncGenerator[SearchSites]:
    """Serve all four on one free port."""
    sites = SearchSites(**options)
    async with web_server(sites.handle) as sites.url:
        yield sites


def where(name: str, sites: SearchSites) -> str:
    """Return what a provider's settings name as its address."""
    return f"{sites.url}/res/v1" if name == "brave" else sites.url
