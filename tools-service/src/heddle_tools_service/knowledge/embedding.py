"""Vectors for texts: what the store needs of an embedder, and the one that ships with it."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Protocol, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from heddle_tools_service.knowledge.errors import EmbeddingError
from heddle_tools_service.knowledge.frames import EmbedReply, EmbedRequest
from heddle_tools_service.knowledge.worker import (
    WorkerClosedError,
    WorkerFailedError,
    WorkerProcess,
)

if TYPE_CHECKING:  # loads onnxruntime
    from heddle_tools_service.knowledge.minilm import MiniLm

Kind = Literal["query", "passage"]
Vectors = NDArray[np.float32]

MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
DIMENSION = 384
TOKENS = 256

_WORKER = "heddle_tools_service.knowledge.embedding_worker"
_WORKER_SECONDS = 120.0  # for one request of some 32 passages; on a quiet core it takes 2
_REMEMBERED_QUERIES = 1_024  # 1.5 MiB


@dataclass(frozen=True, slots=True)
class EmbedderInfo:
    """What identifies an embedder; stored with every collection that it fills.

    Attributes:
        model: Its name.
        dim: Numbers in a vector.
        revision: Changes whenever the same text would get another vector.
        max_tokens: Tokens of a text that it reads; it ignores the rest.
    """

    model: str
    dim: int
    revision: str
    max_tokens: int


class Embedder(Protocol):
    """Whatever turns texts into vectors."""

    def info(self) -> EmbedderInfo:
        """Return what identifies it."""

    async def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """Embed texts: float32 of shape [len(texts), dim], every row of length 1.

        Args:
            texts: Any number.
            kind: Whether they ask or answer; some models embed the two differently.

        Raises:
            EmbeddingError: The model is not available.
        """


class MiniLmEmbedder:
    """all-MiniLM-L6-v2 in int8, offline, on one core.

    Queries are embedded in a thread of this process, so that an answer never waits behind an
    ingestion; passages in a low-priority process of its own that starts with the first of them.
    Close it (`aclose` or `async with`) to end both.

    The weights are quantised dynamically: a vector moves by about a thousandth with the company
    its text keeps in a batch. Cosine similarities are good to two decimals.
    """

    def __init__(self) -> None:
        """Prepare, without loading anything."""
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="query-embedding")
        self._worker = WorkerProcess(_WORKER, seconds=_WORKER_SECONDS)
        self._remembered: OrderedDict[str, Vectors] = OrderedDict()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def info(self) -> EmbedderInfo:
        """Return what identifies it; the revision is the model file's hash."""
        return EmbedderInfo("all-MiniLM-L6-v2-int8", DIMENSION, MODEL_SHA256[:16], TOKENS)

    @property
    def worker_pid(self) -> int | None:
        """The process that embeds passages, once it runs."""
        return self._worker.pid

    async def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """Embed texts, as the protocol says.

        Raises:
            EmbeddingError: A model file is not the expected one, or the worker keeps dying.
        """
        if not texts:
            return np.empty((0, DIMENSION), dtype=np.float32)
        if kind == "passage":
            return await self._embed_passages(texts)
        missing = [text for text in dict.fromkeys(texts) if text not in self._remembered]
        found = {text: self._remembered[text] for text in texts if text not in missing}
        if missing:
            loop = asyncio.get_running_loop()
            vectors = await loop.run_in_executor(self._thread, self._embed_queries, missing)
            found |= zip(missing, vectors, strict=True)
        for text in found:
            self._remembered[text] = found[text]
            self._remembered.move_to_end(text)
        while len(self._remembered) > _REMEMBERED_QUERIES:
            self._remembered.popitem(last=False)
        return np.stack([found[text] for text in texts])

    async def aclose(self) -> None:
        """End the thread and the worker."""
        await self._worker.aclose()
        self._thread.shutdown(wait=False, cancel_futures=True)

    @cached_property
    def _model(self) -> "MiniLm":
        """The model of the query thread, loaded there and by it alone."""
        from heddle_tools_service.knowledge.minilm import MiniLm  # noqa: PLC0415 (slow to import)

        return MiniLm()

    def _embed_queries(self, texts: list[str]) -> Vectors:
        # One by one: in company a quantised vector would depend on the other queries.
        return np.concatenate([self._model.embed([text]) for text in texts])

    async def _embed_passages(self, texts: Sequence[str]) -> Vectors:
        request = msgspec.msgpack.encode(EmbedRequest(list(texts)))
        try:
            payload = await self._worker.call(request)
        except WorkerClosedError as error:
            raise EmbeddingError("The embedder is closed. Try again once it is back.") from error
        except WorkerFailedError as error:
            raise EmbeddingError(
                "The embedding worker failed twice. Check the memory that is free, and the log "
                "of the tools service."
            ) from error
        reply = msgspec.msgpack.decode(payload, type=EmbedReply)
        if reply.error:
            raise EmbeddingError(reply.error)
        return np.frombuffer(reply.vectors, dtype=np.float32).reshape(len(texts), DIMENSION)
