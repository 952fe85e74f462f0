"""Scores of a reranking model behind `/rerank`: vLLM's, Jina's, Cohere's and Infinity's form."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heddle_knowledge.models.server import ModelServer


@dataclass(frozen=True, slots=True)
class RemoteReranker:
    """A model that reads a question and a text together and says how well they fit."""

    server: ModelServer

    async def rerank(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a score for each text as an answer to a question.

        Args:
            query: The question.
            texts: Any number.

        Returns:
            Shape [len(texts)], in their order; comparable among themselves only.

        Raises:
            EmbeddingError: The server fails, or does not score every text.
        """
        if not texts:
            return np.empty(0, dtype=np.float32)
        # Cohere returns no documents unless it is asked, and its newer versions refuse the member.
        body = {"query": query, "documents": list(texts), "top_n": len(texts)}
        reply = await self.server.post("rerank", body)
        listed = reply.get("results") if isinstance(reply, Mapping) else None
        scores = np.full(len(texts), math.nan, dtype=np.float32)
        for each in listed if isinstance(listed, list) else ():
            index, score = _scored(each)
            if 0 <= index < len(texts):
                scores[index] = score
        if not np.all(np.isfinite(scores)):
            raise self.server.unreadable(f"it must score each of {len(texts)} texts")
        return scores


def _scored(each: object) -> tuple[int, float]:
    """Return the position of a result's text, and its score; -1 for an invalid result."""
    if not isinstance(each, Mapping):
        return -1, math.nan
    index, score = each.get("index"), each.get("relevance_score")
    if isinstance(index, int) and isinstance(score, int | float):
        return index, float(score)
    return -1, math.nan
