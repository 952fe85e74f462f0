"""The embedders that ship with Heddle: offline, each in two processes of its own."""

import asyncio
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Self

import msgspec
import numpy as np

from heddle_knowledge.embedders.embedding import (
    DIMENSION,
    E5_SHA256,
    E5_TOKENS,
    MINILM,
    MODEL_SHA256,
    MULTILINGUAL_E5,
    TOKENS,
    EmbedderInfo,
    Kind,
    LocalModel,
    Vectors,
)
from heddle_knowledge.errors import EmbeddingError
from heddle_knowledge.workers.worker import WorkerProcess

_WORKER = "heddle_knowledge.embedders.worker"
_WORKER_SECONDS = 120.0  # for one request of some 32 passages; on a quiet core it takes 2 to 8
LOCAL_MODELS: Mapping[str, EmbedderInfo] = MappingProxyType(
    {
        MINILM: EmbedderInfo(MINILM, DIMENSION, MODEL_SHA256[:16], TOKENS, 0.0, 0.34),
        MULTILINGUAL_E5: EmbedderInfo(
            MULTILINGUAL_E5, DIMENSION, E5_SHA256[:16], E5_TOKENS, 0.75, 0.34
        ),
    }
)
"""The models that ship with Heddle, by their names."""
PRIORITY = "KNOWLEDGE_EMBEDDER_PRIORITY"
"""The variable of a worker's environment that names one of these."""
FOREGROUND = "foreground"
_FAILED = (
    "The embedding worker failed twice. Check the memory that is free, and the log of the "
    "knowledge service."
)


class EmbedRequest(msgspec.Struct, frozen=True):
    """Texts to embed, and by which model. The reply is float32 in this machine's byte order."""

    model: str
    texts: list[str]
    kind: Kind


def load_model(name: str) -> LocalModel:
    """Load a model that ships with Heddle, up to half a second of work.

    Raises:
        EmbeddingError: A file is missing or not the one that was tested.
    """
    if name == MINILM:
        from heddle_knowledge.embedders.minilm import MiniLm  # noqa: PLC0415 (slow to import)

        return MiniLm()
    from heddle_knowledge.embedders.multilingual_e5 import MultilingualE5  # noqa: PLC0415 (loads its engine)

    return MultilingualE5()


class LocalEmbedder:
    """A model that ships with Heddle: offline, on one core.

    Queries and passages have a process each, so that an answer never waits behind an ingestion,
    which has a low priority. A process starts with its first request, and ends when it is idle.
    Close the embedder (`aclose` or `async with`) to end both.
    """

    def __init__(self, model: str = MINILM) -> None:
        """Prepare, without loading anything. Take the name of one of `LOCAL_MODELS`."""
        self._info = LOCAL_MODELS[model]
        self._worker = WorkerProcess(_WORKER, seconds=_WORKER_SECONDS, refusal=EmbeddingError)
        self._query_worker = WorkerProcess(
            _WORKER,
            seconds=_WORKER_SECONDS,
            refusal=EmbeddingError,
            environment={PRIORITY: FOREGROUND},
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def info(self) -> EmbedderInfo:
        """Return the identity of the embedder; the revision is the model file's hash."""
        return self._info

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
        worker = self._worker if kind == "passage" else self._query_worker
        reply = await worker.call(
            EmbedRequest(self._info.model, list(texts), kind),
            bytes,
            failed=EmbeddingError(_FAILED),
            closed=EmbeddingError("The embedder is closed. Try again once it is back."),
        )
        return np.frombuffer(reply, dtype=np.float32).reshape(-1, DIMENSION)

    async def aclose(self) -> None:
        """End the workers."""
        await asyncio.gather(self._worker.aclose(), self._query_worker.aclose())
