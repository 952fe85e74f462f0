"""Embeds passages of several documents, or queries of several searches, in common batches."""

import sys
from collections.abc import Iterator, Sequence
from functools import partial

from heddle_runtime.serving.fair_slots import Tenant

from heddle_knowledge.embedders.embedding import Embedder, Kind, Vectors
from heddle_knowledge.embedders.local_embedders import LocalEmbedder
from heddle_knowledge.ingestion.batching import Batcher, KeyedBatcher

_MAX_PASSAGES = 32
"""Passages of one batch."""
_MAX_LOCAL_CHARACTERS = 2_500
"""Characters of one batch of a local model, about two passages: 0.1 s of work. It takes as long for
each passage of a small batch as of a large one, and the next document waits for one batch only."""
# A local model processes one batch at a time.
_MAX_LOCAL_BATCHES = 1
_MAX_REMOTE_BATCHES = 8


def grouped(embedder: Embedder, texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield passages in the groups that `Batches.embedded` takes."""
    characters = _max_characters(embedder)
    start = 0
    while start < len(texts):
        end = start + _fitting(
            [(1, len(text)) for text in texts[start:][:_MAX_PASSAGES]], characters
        )
        yield texts[start:end]
        start = end


def _max_characters(embedder: Embedder) -> int:
    return _MAX_LOCAL_CHARACTERS if isinstance(embedder, LocalEmbedder) else sys.maxsize


class Batches:
    """Embeds passages or queries; those of concurrent requests share batches."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self._batches: KeyedBatcher[Sequence[str], Sequence[Vectors]] = KeyedBatcher()

    async def embedded(
        self, embedder: Embedder, texts: Sequence[str], *, tenant: Tenant
    ) -> Sequence[Vectors]:
        """Embed a group of passages as of `grouped`: for each a vector. Tenants take turns.

        Raises:
            EmbeddingError: The embedder failed.
        """
        local, characters = isinstance(embedder, LocalEmbedder), _max_characters(embedder)
        return await self._batches.submit(
            embedder.info().model,
            lambda: Batcher(
                partial(_embed_all, embedder, self._kind),
                lambda waiting: _fitting(
                    [(len(texts), sum(map(len, texts))) for texts in waiting], characters
                ),
                max_batches=_MAX_LOCAL_BATCHES if local else _MAX_REMOTE_BATCHES,
            ),
            texts,
            tenant,
        )

    async def aclose(self) -> None:
        """Stop; unfinished requests fail with `StorageError`."""
        await self._batches.aclose()


async def _embed_all(
    embedder: Embedder, kind: Kind, batch: Sequence[Sequence[str]]
) -> list[Sequence[Vectors]]:
    vectors = iter(await embedder.embed([text for texts in batch for text in texts], kind))
    return [[next(vectors) for _ in texts] for texts in batch]


def _fitting(sizes: Sequence[tuple[int, int]], characters: int) -> int:
    """Count what fits into a batch, at least one, by numbers of passages and characters."""
    passages = total = 0
    for count, (more_passages, more_characters) in enumerate(sizes):
        passages += more_passages
        total += more_characters
        if count and (passages > _MAX_PASSAGES or total > characters):
            return count
    return len(sizes)
