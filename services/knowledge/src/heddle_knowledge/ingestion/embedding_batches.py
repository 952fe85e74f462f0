"""Embeds passages of several documents in common batches."""

from bisect import bisect_right
from collections.abc import Sequence
from functools import partial
from itertools import accumulate

from heddle_runtime.fair_slots import Tenant

from heddle_knowledge.embedders.embedding import Embedder, WordEmbedder
from heddle_knowledge.embedders.local_embedders import LocalEmbedder
from heddle_knowledge.ingestion.batching import Batcher, KeyedBatcher
from heddle_knowledge.ingestion.reuse import EmbeddedText

_MAX_REMOTE_PASSAGES = 32
_MAX_LOCAL_PASSAGES = 8
"""Passages of one batch. A local model takes as long for each in a small batch as in a large one,
and the next document waits for the batches in front only: about half a second."""
# A local model processes one batch at a time; the next batch fills meanwhile.
_MAX_LOCAL_BATCHES = 2
_MAX_REMOTE_BATCHES = 8


def max_passages(embedder: Embedder) -> int:
    """Return how many passages a batch of an embedder has at most."""
    local = isinstance(embedder, LocalEmbedder)
    return _MAX_LOCAL_PASSAGES if local else _MAX_REMOTE_PASSAGES


class Batches:
    """Embeds passages; those of concurrent requests share batches."""

    def __init__(self) -> None:
        """Begin without requests."""
        self._batches: KeyedBatcher[Sequence[str], Sequence[EmbeddedText]] = KeyedBatcher()

    async def embedded(
        self, embedder: Embedder, texts: Sequence[str], *, words: bool, tenant: Tenant
    ) -> Sequence[EmbeddedText]:
        """Embed at most `max_passages` passages, and their words if these are kept.

        Tenants take turns.

        Raises:
            EmbeddingError: The embedder failed.
        """
        local = isinstance(embedder, LocalEmbedder)
        return await self._batches.submit(
            f"{embedder.info().model} {words}",
            lambda: Batcher(
                partial(_embed_all, embedder, words=words),
                partial(_batch_size, max_passages(embedder)),
                max_batches=_MAX_LOCAL_BATCHES if local else _MAX_REMOTE_BATCHES,
            ),
            texts,
            tenant,
        )

    async def aclose(self) -> None:
        """Stop; unfinished requests fail with `StorageError`."""
        await self._batches.aclose()


async def _embed_all(
    embedder: Embedder, batch: Sequence[Sequence[str]], *, words: bool
) -> list[Sequence[EmbeddedText]]:
    every = [text for texts in batch for text in texts]
    if words and isinstance(embedder, WordEmbedder):
        results = iter(map(EmbeddedText, *await embedder.embed_with_words(every)))
    else:
        results = iter(map(EmbeddedText, await embedder.embed(every, "passage")))
    return [[next(results) for _ in texts] for texts in batch]


def _batch_size(most: int, waiting: Sequence[Sequence[str]]) -> int:
    """Count the requests whose passages fit into the next batch."""
    totals = [*accumulate(map(len, waiting))]
    return max(1, bisect_right(totals, most))
