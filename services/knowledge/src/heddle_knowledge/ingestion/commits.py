"""Commits of documents: those that are ready at the same time share one.

A commit costs a lock, a manifest and some flushes to the disk, however little it holds. Each
document is acknowledged when the commit that it is in is on disk, so nothing is promised earlier
than alone; and a commit shows readers all of its documents whole.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

import pyarrow as pa

from heddle_knowledge.chunking.chunks import Chunk
from heddle_knowledge.collection.handle import CollectionHandle
from heddle_knowledge.collection.tables import document_rows, replace_documents, update_labels
from heddle_knowledge.collection.types import Document
from heddle_knowledge.embedders.embedding import Vectors
from heddle_knowledge.ingestion.batching import Batcher, KeyedBatcher

_MAX_DOCUMENTS = 128
_MAX_ROWS = 4_096


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document that is ready but for the time of its commit.

    Attributes:
        document: What is known of it.
        chunks: Its passages.
        vectors: Their vectors, each of shape [dim], in the same order.
    """

    document: Document
    chunks: list[Chunk]
    vectors: Sequence[Vectors]
    indexed: Sequence[str]

    def rows(self, now: datetime, collection: str) -> pa.Table:
        """Lay it out as committed now."""
        document = replace(self.document, ingested_at=now)
        return document_rows(document, self.chunks, self.vectors, self.indexed, collection)


class Commits:
    """The commits to all collections of a store. Those to one collection take turns."""

    def __init__(self, committed: Callable[[str, int], None]) -> None:
        """Take the function that receives the collection's id and the rows of each commit."""
        self._committed = committed
        self._batches: KeyedBatcher[Prepared, bool] = KeyedBatcher()

    async def put(self, handle: CollectionHandle, prepared: Prepared) -> bool:
        """Put a document in; say whether it took the place of an earlier version.

        Raises:
            CollectionNotFoundError: The collection was deleted meanwhile.
            StorageError: The commit failed; the document is as it was.
        """
        return await self._batches.submit(
            handle.collection.id,
            lambda: Batcher(
                partial(self._commit, handle),
                _batch_size,
                lock=handle.writing,
                uninterruptible=True,
            ),
            prepared,
        )

    async def relabel(self, handle: CollectionHandle, document: Document) -> bool:
        """Change a document's URI and metadata, if it is still of this version; say whether.

        Raises:
            CollectionNotFoundError: The collection was deleted meanwhile.
            StorageError: The commit failed; the document is as it was.
        """
        async with handle.writing():
            changed = await update_labels(handle.table, document)
        if changed:
            self._committed(handle.collection.id, changed)
        return bool(changed)

    async def aclose(self) -> None:
        """Stop; documents that are not committed fail with `StorageError`."""
        await self._batches.aclose()

    async def _commit(self, handle: CollectionHandle, group: Sequence[Prepared]) -> list[bool]:
        # Stamped under the lock: of two versions the later commit has the later time.
        now = datetime.now(UTC)
        collection = handle.collection.id
        rows = await asyncio.to_thread(
            lambda: pa.concat_tables([prepared.rows(now, collection) for prepared in group])
        )
        names = [prepared.document.name for prepared in group]
        replaced = await replace_documents(handle.table, names, rows)
        self._committed(handle.collection.id, rows.num_rows)
        return [name in replaced for name in names]


def _batch_size(waiting: Sequence[Prepared]) -> int:
    """Count documents for the next commit: one version of each, and few enough to be quick."""
    names: set[str] = set()
    rows = 0
    for count, prepared in enumerate(waiting):
        rows += len(prepared.chunks)
        full = count == _MAX_DOCUMENTS or (count and rows > _MAX_ROWS)
        if full or prepared.document.name in names:
            return count
        names.add(prepared.document.name)
    return len(waiting)
