"""Vectors of an embedding model behind `/embeddings`: OpenAI's form, or Jina's."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from heddle_runtime.telemetry import spans

from heddle_knowledge.embedders.embedding import EmbedderInfo, Kind, Vectors
from heddle_knowledge.errors import EmbeddingError
from heddle_knowledge.models.server import ModelServer

Shape = Literal["openai", "jina"]
_CHARACTERS_PER_TOKEN = 4
_MAX_NUMBERS = 131_072
"""In one answer, which is parsed while the service does nothing else: 32 vectors of 4,096."""


@dataclass(frozen=True, slots=True)
class RemoteEmbedder:
    """An embedder as the knowledge store needs it: vLLM, Ollama, Jina and the like."""

    server: ModelServer
    dimension: int
    tokens: int
    shape: Shape = "openai"
    query_prefix: str = ""
    passage_prefix: str = ""
    threshold: float = 0.0
    batch: int = 32

    def info(self) -> EmbedderInfo:
        """Return the identity. The revision covers the prompts for questions and passages.

        The version of the model at its server is unknown: an operator who replaces it there must
        ingest the collections again.
        """
        identity = f"{self.shape}\0{self.query_prefix}\0{self.passage_prefix}"
        revision = hashlib.sha256(identity.encode()).hexdigest()[:16]
        return EmbedderInfo(
            self.server.model, self.dimension, revision, self.tokens, threshold=self.threshold
        )

    async def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """Embed texts, as `Embedder` says.

        Raises:
            EmbeddingError: The server fails, or its vectors are not those that were expected.
        """
        matrix = np.empty((len(texts), self.dimension), dtype=np.float32)
        tokens = 0
        batch = min(self.batch, max(1, _MAX_NUMBERS // self.dimension))
        for start in range(0, len(texts), batch):
            some = texts[start : start + batch]
            numbers = len(some) * self.dimension
            reply = await self.server.post("embeddings", self._body(some, kind), numbers)
            matrix[start : start + len(some)] = self._vectors(reply, len(some))
            tokens += _tokens(reply)
        spans.annotate(lambda: {"gen_ai.usage.input_tokens": tokens} if tokens else {})
        return matrix

    def _body(self, texts: Sequence[str], kind: Kind) -> dict[str, Any]:
        prefix = self.query_prefix if kind == "query" else self.passage_prefix
        longest = self.tokens * _CHARACTERS_PER_TOKEN  # many servers refuse what is too long
        inputs = [f"{prefix}{text[:longest]}" for text in texts]
        if self.shape == "jina":
            return {"input": inputs, "task": f"retrieval.{kind}", "embedding_type": "float"}
        return {"input": inputs, "encoding_format": "float"}

    def _vectors(self, reply: object, count: int) -> Vectors:
        data = reply.get("data") if isinstance(reply, Mapping) else None
        if not isinstance(data, list) or len(data) != count:
            raise self.server.unreadable(f"it must hold {count} vectors")
        try:
            placed = sorted((each["index"], each["embedding"]) for each in data)
            vectors = np.array([vector for _, vector in placed], dtype=np.float32)
        except (KeyError, TypeError, ValueError):
            reason = "not all of it is vectors of numbers"
            raise self.server.unreadable(reason) from None
        if [index for index, _ in placed] != list(range(count)):
            raise self.server.unreadable("its vectors are not numbered from 0")
        if vectors.shape != (count, self.dimension):
            raise EmbeddingError(
                f"The embedding model {self.server.model!r} makes vectors of {vectors.shape[-1]} "
                f"numbers, not {self.dimension}. Set HEDDLE_KNOWLEDGE_EMBEDDINGS_DIMENSION."
            )
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.all(np.isfinite(lengths)) or not np.all(lengths > 0):
            raise self.server.unreadable("a vector is zero or not finite")
        normalised: Vectors = vectors / lengths
        return normalised


def _tokens(reply: Any) -> int:  # noqa: ANN401 - any JSON value, whose vectors were found
    usage = reply.get("usage")
    tokens = usage.get("prompt_tokens") if isinstance(usage, Mapping) else None
    return tokens if isinstance(tokens, int) else 0
