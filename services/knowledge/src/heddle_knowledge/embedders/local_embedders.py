"""The embedders that ship with Heddle: offline, each in two processes of its own."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
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
PRIORITY = "KNOWLEDGE_EMBEDDER_PRIORITY"
"""The variable of a worker's environment that names one of these."""
FOREGROUND = "foreground"
_FAILED = (
    "The embedding worker failed twice. Check the memory that is free, and the log of the "
    "knowledge service."
)


class EmbedRequest(msgspec.Struct, frozen=True, tag=True):
    """Passages to embed, by which model, and whether word by word too."""

    model: str
    texts: list[str]
    words: bool = False


class QueryRequest(msgspec.Struct, frozen=True, tag=True):
    """Queries to embed, by which model; or the words of one query."""

    model: str
    texts: list[str]
    words: bool = False


class EmbedReply(msgspec.Struct, frozen=True):
    """Vectors: float32 in this machine's byte order, row after row.

    Of passages, the words of each are as `late_interaction.packed`, if the request wants them. Of
    a query, the vectors are those of its words then.
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

    Queries and passages have a process each, so that an answer never waits behind an ingestion,
    which has a low priority. A process starts with its first request, and ends when it is idle.
    Close the embedder (`aclose` or `async with`) to end both.
    """

    def __init__(self, info: EmbedderInfo) -> None:
        """Prepare, without loading anything."""
        self._info = info
        self._worker = WorkerProcess(_WORKER, seconds=_WORKER_SECONDS, refusal=EmbeddingError)
        self._query_worker = WorkerProcess(
            _WORKER,
            seconds=_WORKER_SECONDS,
            refusal=EmbeddingError,
            environment={PRIORITY: FOREGROUND},
        )
        self._remembered: OrderedDict[str, Vectors] = OrderedDict()

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
        if kind == "passage":
            return (await self._ask_worker(texts, words=False))[0]
        known = {text: self._remembered[text] for text in texts if text in self._remembered}
        if unknown := [text for text in dict.fromkeys(texts) if text not in known]:
            known |= zip(unknown, await self._ask_queries(unknown), strict=True)
        for text, vector in known.items():
            self._remember(text, vector)
        return np.stack([known[text] for text in texts])

    async def aclose(self) -> None:
        """End the workers."""
        await asyncio.gather(self._worker.aclose(), self._query_worker.aclose())

    def _remember(self, text: str, vector: Vectors) -> None:
        self._remembered[text] = vector
        self._remembered.move_to_end(text)
        if len(self._remembered) > _REMEMBERED_QUERIES:
            self._remembered.popitem(last=False)

    async def _ask_queries(self, texts: Sequence[str], *, words: bool = False) -> Vectors:
        request = QueryRequest(self._info.model, list(texts), words)
        return _vectors(await self._reply(self._query_worker, request))

    async def _ask_worker(
        self, texts: Sequence[str], *, words: bool
    ) -> tuple[Vectors, list[bytes]]:
        request = EmbedRequest(self._info.model, list(texts), words)
        reply = await self._reply(self._worker, request)
        return _vectors(reply), reply.words

    async def _reply(
        self, worker: WorkerProcess, request: EmbedRequest | QueryRequest
    ) -> EmbedReply:
        return await worker.call(
            request,
            EmbedReply,
            failed=EmbeddingError(_FAILED),
            closed=EmbeddingError("The embedder is closed. Try again once it is back."),
        )


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
        return await self._ask_queries([query], words=True)

    async def embed_with_words(self, passages: Sequence[str]) -> tuple[Vectors, list[bytes]]:
        """Embed passages and their words, as the protocol says."""
        if not passages:
            return np.empty((0, DIMENSION), dtype=np.float32), []
        return await self._ask_worker(passages, words=True)


class MultilingualE5Embedder(LocalEmbedder):
    """multilingual-e5-small in 4 bits, for about a hundred languages; a third as fast.

    Its similarities lie close together: about 0.8 is what nothing has in common.
    """

    def __init__(self) -> None:
        """Prepare, without loading anything."""
        super().__init__(EmbedderInfo(MULTILINGUAL_E5, DIMENSION, E5_SHA256[:16], E5_TOKENS))


def _vectors(reply: EmbedReply) -> Vectors:
    return np.frombuffer(reply.vectors, dtype=np.float32).reshape(-1, DIMENSION)
