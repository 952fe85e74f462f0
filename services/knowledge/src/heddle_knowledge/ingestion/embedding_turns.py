"""Embeds passages in groups. Tenants take turns, so that no large document holds up the others."""

import sys
from collections.abc import Iterator, Sequence

from heddle_runtime.serving.fair_slots import FairSlots, Tenant

from heddle_knowledge.embedders.embedding import Embedder, Vectors
from heddle_knowledge.embedders.local_embedders import LocalEmbedder

_MAX_PASSAGES = 32
"""Passages of one group."""
_MAX_LOCAL_CHARACTERS = 2_500
"""Characters of one group of a local model, about two passages: 0.1 s of work. It takes as long for
each passage of a small group as of a large one, and the next document waits for one group only."""
# A local model processes one group at a time.
_MAX_LOCAL_GROUPS = 1
_MAX_REMOTE_GROUPS = 8


def grouped(embedder: Embedder, texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield passages in the groups that are embedded at once."""
    most = _MAX_LOCAL_CHARACTERS if isinstance(embedder, LocalEmbedder) else sys.maxsize
    start = characters = 0
    for at, text in enumerate(texts):
        characters += len(text)
        if at > start and (characters > most or at - start == _MAX_PASSAGES):
            yield texts[start:at]
            start, characters = at, len(text)
    if texts:
        yield texts[start:]


class EmbeddingTurns:
    """Embeds the groups of concurrent documents, as many at once as a model can."""

    def __init__(self) -> None:
        self._slots: dict[str, FairSlots] = {}

    async def embedded(
        self, embedder: Embedder, texts: Sequence[str], *, tenant: Tenant
    ) -> Vectors:
        """Embed a group of passages when it is the tenant's turn: shape [len(texts), dim].

        Raises:
            EmbeddingError: The embedder failed.
        """
        most = _MAX_LOCAL_GROUPS if isinstance(embedder, LocalEmbedder) else _MAX_REMOTE_GROUPS
        slots = FairSlots(most, per_organization=most)
        async with self._slots.setdefault(embedder.info().model, slots).slot(tenant):
            return await embedder.embed(texts, "passage")
