"""Servers of other search engines with a few entries: Chroma's own, and stand-ins of two others.

Qdrant's stand-in answers its REST interface with what the local mode of its client finds, and
Weaviate's speaks the messages that its client ships.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import chromadb
import grpc
import numpy as np
from aiohttp import web
from heddle_knowledge.embedders.embedding import Vectors
from patience import until
from qdrant_client import AsyncQdrantClient, models
from runtime.ports import free_port
from weaviate.proto.v1 import properties_pb2, search_get_pb2, weaviate_pb2_grpc
from web_server import web_server

from benchmarks.retrieval.hashing_embedder import HashingEmbedder

# Weaviate's package changes it, and with it what processes that tests start write.
os.environ["GRPC_VERBOSITY"] = "NONE"
NAME, KEY = "Courses", "key-of-the-engine"
ENTRIES: Sequence[Mapping[str, Any]] = [
    {"body": "A shed is a gap between warp threads.", "title": "Weaving", "page": 3, "year": 2024},
    {"body": "The heddle lifts the warp threads.", "title": "Looms", "page": 1, "year": 2023},
    {"body": "The library opens at nine.", "title": "Library", "page": 7, "year": 2023},
    {"body": "Exams end in the first week of July.", "title": "Exams", "page": 2, "year": 2024},
]
URI = "https://uni.example/{title}"


@dataclass(frozen=True)
class Running:
    """A server as the settings of an organisation name it."""

    url: str
    key: str = ""
    grpc_url: str = ""


def entries() -> list[dict[str, Any]]:
    return [{**each, "uri": URI.format(**each)} for each in ENTRIES]


async def vectors() -> list[list[float]]:
    texts = [each["body"] for each in ENTRIES]
    rows: list[list[float]] = (await HashingEmbedder().embed(texts, "passage")).tolist()
    return rows


@asynccontextmanager
async def chroma(folder: Path) -> AsyncGenerator[Running]:
    """Run Chroma's server."""
    port = free_port()
    command = (str(Path(sys.executable).with_name("chroma")), "run", "--host", "127.0.0.1")
    server = subprocess.Popen(  # noqa: ASYNC220, S603 - returns at once; fixed words
        (*command, "--port", str(port), "--path", str(folder / "chroma")),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
    )
    try:
        await until(lambda: _answers(port), seconds=30)
        texts = [each["body"] for each in ENTRIES]
        metadatas: Any = [{k: v for k, v in each.items() if k != "body"} for each in entries()]
        embedded = await vectors()

        def fill() -> None:
            client = chromadb.HttpClient(host="127.0.0.1", port=port)
            there = client.create_collection(NAME, embedding_function=None)
            ids = [str(number) for number in range(len(texts))]
            vectors: Any = embedded
            there.add(ids=ids, documents=texts, metadatas=metadatas, embeddings=vectors)

        await asyncio.to_thread(fill)
        yield Running(f"http://127.0.0.1:{port}")
    finally:
        server.terminate()
        await asyncio.to_thread(server.wait)


async def _answers(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True


@asynccontextmanager
async def qdrant(_: Path) -> AsyncGenerator[Running]:
    """Answer Qdrant's REST interface by the local mode of its client."""
    local = AsyncQdrantClient(":memory:")
    size = len((await vectors())[0])
    parameters = models.VectorParams(size=size, distance=models.Distance.COSINE)
    await local.create_collection(NAME, vectors_config={"body": parameters})
    stored = [
        models.PointStruct(id=number, vector={"body": vector}, payload=entry)
        for number, (vector, entry) in enumerate(zip(await vectors(), entries(), strict=True))
    ]
    await local.upsert(NAME, stored)

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        if request.headers.get("api-key") != KEY:
            return web.json_response({"status": {"error": "Invalid API key"}}, status=401)
        name = request.path.split("/")[2]
        if request.path != f"/collections/{NAME}/points/query":
            about = f"Not found: Collection `{name}` doesn't exist!"
            return web.json_response({"status": {"error": about}}, status=404)
        query = models.QueryRequest.model_validate(await request.json())
        points = await local.query_points(
            NAME,
            query=query.query,
            using=query.using,
            query_filter=query.filter,
            limit=query.limit or 10,
            with_payload=True,
            with_vectors=query.with_vector or False,
        )
        result = {"result": points.model_dump(mode="json"), "status": "ok", "time": 0.1}
        return web.json_response(result)

    async with web_server(handle) as url:
        yield Running(url, KEY)
    await local.close()


class _Weaviate(weaviate_pb2_grpc.WeaviateServicer):
    def __init__(self, rows: Vectors) -> None:
        self._vectors = rows

    async def Search(
        self,
        request: search_get_pb2.SearchRequest,
        context: "grpc.aio.ServicerContext[Any, Any]",
    ) -> search_get_pb2.SearchReply:
        if ("authorization", f"Bearer {KEY}") not in (context.invocation_metadata() or ()):
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, "invalid api key")
        if request.collection != NAME:
            about = f"could not find class {request.collection} in schema"
            await context.abort(grpc.StatusCode.UNKNOWN, about)
        kind = next(
            name
            for name in ("hybrid_search", "bm25_search", "near_vector", "near_text")
            if request.HasField(name)
        )
        part = getattr(request, kind)
        text = part.query[0] if kind == "near_text" else getattr(part, "query", "")
        words = np.array([_common(text, each["body"]) for each in ENTRIES], dtype=np.float32)
        packed = getattr(part, "vector_bytes", b"")
        query = np.frombuffer(packed, dtype="<f4") if packed else None
        if query is None and kind != "bm25_search":  # as its own vectoriser
            query = (await HashingEmbedder().embed([text], "query"))[0]
        cosines = self._vectors @ query if query is not None else np.zeros(len(words))
        scores = {"bm25_search": words, "hybrid_search": 0.7 * cosines + 0.3 * words}
        ranked = scores.get(kind, cosines)
        order = [*np.argsort(-ranked, kind="stable")][: request.limit]
        if kind == "bm25_search":
            order = [each for each in order if words[each] > 0]
        return search_get_pb2.SearchReply(
            results=[self._result(at, request, kind, float(ranked[at])) for at in order]
        )

    def _result(
        self, at: int, request: search_get_pb2.SearchRequest, kind: str, score: float
    ) -> search_get_pb2.SearchResult:
        near = kind.startswith("near")
        fields = {
            name: properties_pb2.Value(int_value=value)
            if isinstance(value, int)
            else properties_pb2.Value(text_value=value)
            for name, value in entries()[at].items()
        }
        metadata = search_get_pb2.MetadataResult(
            id=f"00000000-0000-0000-0000-00000000000{at}",
            distance=1 - score if near else 0,
            distance_present=near,
            score=0 if near else score,
            score_present=not near,
            vector_bytes=self._vectors[at].astype("<f4").tobytes()
            if request.metadata.vector
            else b"",
        )
        properties = properties_pb2.Properties(fields=fields)
        return search_get_pb2.SearchResult(
            metadata=metadata, properties=search_get_pb2.PropertiesResult(non_ref_props=properties)
        )


def _common(query: str, text: str) -> int:
    return len({*query.lower().split()} & {*text.lower().rstrip(".").split()})


@asynccontextmanager
async def weaviate(_: Path) -> AsyncGenerator[Running]:
    """Speak Weaviate's gRPC."""
    server = grpc.aio.server()
    rows = np.array(await vectors(), dtype=np.float32)
    weaviate_pb2_grpc.add_WeaviateServicer_to_server(_Weaviate(rows), server)  # type: ignore[no-untyped-call] # ships no annotations
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield Running("http://127.0.0.1:1", KEY, f"http://127.0.0.1:{port}")
    finally:
        await server.stop(None)


SERVERS: Mapping[str, Callable[[Path], AbstractAsyncContextManager[Running]]] = {
    "chroma": chroma,
    "qdrant": qdrant,
    "weaviate": weaviate,
}
