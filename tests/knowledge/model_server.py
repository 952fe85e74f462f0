"""A server with an embedding and a reranking model, as vLLM, Ollama, Jina and Cohere answer."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from aiohttp import web
from web_server import web_server

DIMENSION = 8


@dataclass
class ModelSite:
    """What it was asked, and how it misbehaves."""

    url: str = ""
    key: str = "key-of-the-models"
    failures: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    """Statuses and headers of the next answers, before it works."""
    answer: bytes | None = None
    """What to answer instead."""
    delay: float = 0.0
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[Any] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.paths.append(request.path)
        self.headers.append(dict(request.headers))
        self.bodies.append(body := await request.json())
        await asyncio.sleep(self.delay)
        if self.failures:
            status, headers = self.failures.pop(0)
            about = {"message": f"no {self.key}", "type": "x", "code": status}
            return web.json_response({"error": about}, status=status, headers=headers)
        if request.headers.get("Authorization") != f"Bearer {self.key}":
            return web.json_response({"detail": "Unauthorized"}, status=401)
        if self.answer is not None:
            return web.Response(body=self.answer, content_type="application/json")
        found = _embedded(body) if request.path.endswith("/embeddings") else _ranked(body)
        return web.json_response(found)


def vector(text: str) -> list[float]:
    """Return what the model makes of a text; of no length in particular."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
    return [float(each) for each in np.random.default_rng(seed).normal(size=DIMENSION) * 3]


def fit(query: str, text: str) -> float:
    """Return how well a text fits: how many of the question's words it has."""
    words = set(query.split())
    return len(words & set(text.split())) / len(words)


def _embedded(body: Any) -> Any:
    # In no order in particular: `index` says which is which.
    data = [
        {"object": "embedding", "index": index, "embedding": vector(text)}
        for index, text in enumerate(body["input"])
    ]
    usage = {"prompt_tokens": 5, "total_tokens": 5}
    return {"object": "list", "data": data[::-1], "model": body["model"], "usage": usage}


def _ranked(body: Any) -> Any:
    texts: Sequence[str] = body["documents"]
    scored: list[dict[str, Any]] = [
        {"index": index, "relevance_score": fit(body["query"], text), "document": {"text": text}}
        for index, text in enumerate(texts)
    ]
    best = sorted(scored, key=lambda each: -each["relevance_score"])[: body["top_n"]]
    return {"id": "rerank-1", "model": body["model"], "results": best}


@asynccontextmanager
async def model_site(**options: Any) -> AsyncGenerator[ModelSite]:
    """Serve both models on a free port."""
    site = ModelSite(**options)
    async with web_server(site.handle) as site.url:
        yield site
