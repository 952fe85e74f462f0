"""Passages of several documents, embedded in common batches."""

from collections.abc import Sequence
from functools import partial

from heddle_knowledge.embedders.embedding import Embedder, WordEmbedder
from heddle_knowledge.embedders.local_embedders import LocalEmbedder
from heddle_knowledge.ingestion.batching import Groups, Together
from heddle_knowledge.ingestion.reuse import EmbeddedText

LARGEST = 32
"""Passages of a batch: a local model gets through it in two seconds or so."""
# The model of this machine takes one at a time: the next is filled while it does so.
_AT_ONCE_HERE = 2
_AT_ONCE_ELSEWHERE = 8


class Batches:
    """Hands passages to embedders, those of all who come at the same time together."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._groups: Groups[Sequence[str], Sequence[EmbeddedText]] = Groups()

    async def embedded(
        self, embedder: Embedder, texts: Sequence[str], *, words: bool
    ) -> Sequence[EmbeddedText]:
        """Embed at most 32 passages, and their words if these are kept.

        Raises:
            EmbeddingError: The embedder failed.
        """
        at_once = _AT_ONCE_HERE if isinstance(embedder, LocalEmbedder) else _AT_ONCE_ELSEWHERE
        return await self._groups.ask(
            f"{embedder.info().model} {words}",
            lambda: Together(partial(_embed_all, embedder, words=words), _fitting, at_once=at_once),
            texts,
        )

    async def aclose(self) -> None:
        """End; whoever still waits fails."""
        await self._groups.aclose()


async def _embed_all(
    embedder: Embedder, group: Sequence[Sequence[str]], *, words: bool
) -> list[Sequence[EmbeddedText]]:
    every = [text for texts in group for text in texts]
    if words and isinstance(embedder, WordEmbedder):
        results = iter(map(EmbeddedText, *await embedder.embed_with_words(every)))
    else:
        results = iter(map(EmbeddedText, await embedder.embed(every, "passage")))
    return [[next(results) for _ in texts] for texts in group]


def _fitting(waiting: Sequence[Sequence[str]]) -> int:
    """Count who shares a batch."""
    total = 0
    for count, texts in enumerate(waiting):
        total += len(texts)
        if count and total > LARGEST:
            return count
    return len(waiting)
