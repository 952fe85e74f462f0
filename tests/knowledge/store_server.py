"""LAMB's second knowledge server over HTTP: the call that searches a knowledge store."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from web_server import web_server

TOKEN = "store-server-token"


@dataclass(frozen=True)
class Store:
    """What the server has of a knowledge store."""

    texts: tuple[str, ...]
    key: str = ""
    """What its provider of embeddings demands."""
    endpoint: str = ""
    """Where that provider is."""
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass
class StoreServer:
    """Checks the token and the key, as the server and the provider behind it do."""

    url: str = ""
    token: str = TOKEN
    stores: dict[str, Store] = field(default_factory=dict)
    requests: list[web.BaseRequest] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.json()
        self.requests.append(request)
        self.bodies.append(body)
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return web.json_response({"detail": "Invalid token"}, status=401)
        place, _, action = request.raw_path.removeprefix("/collections/").partition("/")
        if request.method != "POST" or action != "query" or place not in self.stores:
            return web.json_response({"detail": "Not found"}, status=404)
        if body.keys() != {"query_text", "top_k", "embedding_credentials"}:
            return web.json_response({"detail": "Unknown members"}, status=422)
        store = self.stores[place]
        expected = {"api_key": store.key, "api_endpoint": store.endpoint}
        if body["embedding_credentials"] != expected:
            return web.json_response({"detail": "Incorrect API key provided"}, status=500)
        results = [
            {"text": text, "score": 0.5 - 0.1 * place, "metadata": store.metadata}
            for place, text in enumerate(store.texts[: body["top_k"]])
        ]
        return web.json_response({"results": results, "query": body["query_text"]})

    @property
    def keys(self) -> list[str]:
        """The keys that it was sent, in the order of the requests."""
        return [body["embedding_credentials"]["api_key"] for body in self.bodies]


@asynccontextmanager
async def store_server(**stores: Store) -> AsyncGenerator[StoreServer]:
    """Serve knowledge stores on a free port."""
    server = StoreServer(stores=stores)
    async with web_server(server.handle) as server.url:
        yield server
