"""A knowledge-base server of LAMB, as far as an import reads it."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from aiohttp import web
from web_server import web_server

TOKEN = "the-key-of-lambs-kb-server"
PAGE = 100


@dataclass
class LambKbServer:
    """What the server has, and which requests it got."""

    url: str = ""
    token: str = TOKEN
    vendor: str = "ollama"
    """Of the embeddings: `heddle` if the server is one."""
    collections: list[dict[str, Any]] = field(default_factory=list)
    files: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """By the identifier of the collection."""
    stored: dict[str, bytes] = field(default_factory=dict)
    """What is served, by path."""
    texts: dict[str, str] = field(default_factory=dict)
    """What LAMB has read from files, by their identifiers."""
    requests: list[str] = field(default_factory=list)
    failures: dict[int, int] = field(default_factory=dict)
    """The status of a request, by its number from 0 on."""
    fails_from: int | None = None
    """The number of the request from which on all are refused."""

    def add(self, identifier: int, name: str, owner: str, **more: Any) -> "LambKbServer":
        """Add a collection."""
        members = {"id": identifier, "name": name, "owner": owner, "visibility": "private"}
        self.collections.append({**members, "description": f"About {name}.", **more})
        self.files.setdefault(str(identifier), [])
        return self

    def add_file(
        self, collection: int, name: str, data: bytes | None, text: str = "", **more: Any
    ) -> "LambKbServer":
        """Add a file; without data, the server has only its text."""
        number = sum(map(len, self.files.values())) + 1
        path = f"/static/7/kb {collection}/{number}.bin"
        entry = {
            "id": number,
            "collection_id": collection,
            "original_filename": name,
            "file_url": f"https://kb.public.example{path}" if data is not None else "",
            "file_size": len(data or b""),
            "plugin_name": "simple_ingest",
            "plugin_params": {},
            "status": "completed",
            "document_count": 3,
        }
        if data is not None:
            self.stored[path] = data
        if text:
            self.texts[str(number)] = text
        self.files[str(collection)].append(entry | more)
        return self

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        number = len(self.requests)
        self.requests.append(request.raw_path)
        path, query = unquote(request.raw_path.partition("?")[0]), request.query
        if path.startswith("/static/"):  # no key is needed, as at LAMB's server
            status = 200
        else:
            expected = f"Bearer {self.token}"
            status = 200 if request.headers.get("authorization") == expected else 401
        status = self.failures.get(number, status)
        if self.fails_from is not None and number >= self.fails_from:
            status = 418
        if status != 200:
            return web.json_response({"detail": f"{self.token} leaks"}, status=status)
        return self._response(path, query)

    def _response(self, path: str, query: Any) -> web.Response:
        missing = web.json_response({"detail": "Not found"}, status=404)
        if path in self.stored:
            return web.Response(body=self.stored[path])
        match path.strip("/").split("/"):
            case ["config", "embeddings"]:
                return web.json_response({"vendor": self.vendor, "model": "nomic-embed-text"})
            case ["collections"]:
                skip, limit = int(query.get("skip", 0)), int(query.get("limit", PAGE))
                items = self.collections[skip : skip + limit]
                return web.json_response({"total": len(self.collections), "items": items})
            case ["collections", identifier, "files"] if identifier in self.files:
                return web.json_response(self.files[identifier])
            case ["files", identifier, "content"] if identifier in self.texts:
                body = {"file_id": int(identifier), "content": self.texts[identifier]}
                return web.Response(text=json.dumps(body), content_type="application/json")
        return missing


@asynccontextmanager
async def lamb_kb_server() -> AsyncGenerator[LambKbServer]:
    """Serve on a free port."""
    server = LambKbServer()
    async with web_server(server.handle) as server.url:
        yield server
