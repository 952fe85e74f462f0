"""The embedders that ship with Heddle: offline, each in a thread and a process of its own."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Self

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

if TYPE_CHECKING:  # slow to import
    from heddle_knowledge.embedders.minilm import MiniLm

_WORKER = "heddle_knowledge.embedders.worker"
_WORKER_SECONDS = 120.0  # for one request of some 32 passages; on a quiet core it takes 2 to 8
_REMEMBERED_QUERIES = 1_024  # 1.5 MiB


class EmbedRequest(msgspec.Struct, frozen=True):
    """Passages to embed, by which model, and whether word by word too."""

    model: str
    texts: list[str]
    words: bool = False


class EmbedReply(msgspec.Struct, frozen=True):
    """Their vectors: float32 in this machine's byte order, row after row.

    The words of each are as `late_interaction.packed`, if they were asked for.
    """

    vectors: bytes
    words: list[bytes] = []


def load_model(name: str) -> LocalModel:
    """Load a model that ships with Heddle, up to half a second of work.

    Raises:
        EmbeddingError: A file is missing or not the one that was tested.
    """
    if name == MINILM:
        return load_minilm()
    from heddle_knowledge.embedders.multilingual_e5 import MultilingualE5  # noqa: PLC0415 (loads its engine)

    return MultilingualE5()


def load_minilm() -> "MiniLm":
    """Load all-MiniLM-L6-v2.

    Raises:
        EmbeddingError: A file is missing or not the one that was tested.
    """
    from heddle_knowledge.embedders.minilm import MiniLm  # noqa: PLC0415 (slow to import)

    return MiniLm()


class LocalEmbedder:
    """A model that ships with Heddle: offline, on one core.

    Queries are embedded in a thread of this process, so that an answer never waits behind an
    ingestion; passages in a low-priority process of its own that starts with the first of them.
    Close it (`aclose` or `async with`) to end both.
    """

    def __init__(self, info: EmbedderInfo) -> None:
        """Prepare, without loading anything."""
        self._info = info
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="query-embedding")
        self._worker = WorkerProcess(_WORKER, seconds=_WORKER_SECONDS, refusal=EmbeddingError)
        self._remembered = lru_cache(_REMEMBERED_QUERIES)(self._embed_query)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def info(self) -> EmbedderInfo:
        """Return what identifies it; the revision is the model file's hash."""
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
        if kind == "passage":
            return (await self._ask_worker(texts, words=False))[0]
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._embed_queries, texts)

    async def aclose(self) -> None:
        """End the thread and the worker."""
        await self._worker.aclose()
        self._thread.shutdown(wait=False, cancel_futures=True)

    @cached_property
    def _model(self) -> LocalModel:
        """The model of the query thread, loaded there and by it alone."""
        return load_model(self._info.model)

    def _embed_queries(self, texts: Sequence[str]) -> Vectors:
        # One by one: in company a quantised vector would depend on the other queries.
        return np.stack([self._remembered(text) for text in texts])

    def _embed_query(self, text: str) -> Vectors:
        vector: Vectors = self._model.embed([text], "query")[0]
        return vector

    async def _ask_worker(
        self, texts: Sequence[str], *, words: bool
    ) -> tuple[Vectors, list[bytes]]:
        request = EmbedRequest(self._info.model, list(texts), words)
        reply = await self._worker.call(
            request,
            EmbedReply,
            failed=EmbeddingError(
                "The embedding worker failed twice. Check the memory that is free, and the log "
                "of the knowledge service."
            ),
            closed=EmbeddingError("The embedder is closed. Try again once it is back."),
        )
        vectors = np.frombuffer(reply.vectors, dtype=np.float32).reshape(len(texts), DIMENSION)
        return vectors, reply.words


class MiniLmEmbedder(LocalEmbedder):
    """all-MiniLM-L6-v2 in int8, for English.

    The weights are quantised dynamically: a vector moves by about a thousandth with the company
    its text keeps in a batch. Cosine similarities are good to two decimals.
    """

    def __init__(self) -> None:
        """Prepare, without loading anything."""
        super().__init__(EmbedderInfo(MINILM, DIMENSION, MODEL_SHA256[:16], TOKENS))

    async def embed_words(self, query: str) -> Vectors:
        """Embed the words of a question, as the protocol says."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._words_of, query)

    async def embed_with_words(self, passages: Sequence[str]) -> tuple[Vectors, list[bytes]]:
        """Embed passages and their words, as the protocol says."""
        if not passages:
            return np.empty((0, DIMENSION), dtype=np.float32), []
        return await self._ask_worker(passages, words=True)

    @cached_property
    def _model(self) -> "MiniLm":
        return load_minilm()

    def _words_of(self, query: str) -> Vectors:
        _, (words,) = self._model.embed_words([query])
        return words


class MultilingualE5Embedder(LocalEmbedder):
    """multilingual-e5-small in 4 bits, for about a hundred languages; a third as fast.

    Its similarities lie close together: about 0.8 is what nothing has in common.
    """

    def __init__(self) -> None:
        """Prepare, without loading anything."""
        super().__init__(EmbedderInfo(MULTILINGUAL_E5, DIMENSION, E5_SHA256[:16], E5_TOKENS))
