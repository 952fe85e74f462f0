"""The parts of graphs: the names of each version of each document.

A part is written before its document is committed and dropped after the document has gone, so it
counts only if the collection holds the document with the part's checksum: whoever crashes when, a
graph is never wrong, and at worst there is a part too many.
"""

from collections.abc import Sequence

import msgspec
from heddle_runtime.storage.database.claims import clock
from heddle_runtime.storage.database.inserting import insertion
from sqlalchemy import ColumnElement, delete, or_, select

from heddle_knowledge.database.opening import KnowledgeDatabase
from heddle_knowledge.database.schema import graph_parts
from heddle_knowledge.graph.records import NamedPassage, Part

_LEFT_OVER_SECONDS = 24 * 3600
"""Age of a part whose document will not be committed any more."""
_PARTS = graph_parts.c
_encode = msgspec.msgpack.Encoder().encode


class GraphParts:
    """Reads and writes the parts of the graph of a collection. Methods raise `StorageError`."""

    def __init__(self, database: KnowledgeDatabase, collection: str) -> None:
        self._database = database
        self._collection = collection

    async def has(self, document: str, sha256: str) -> bool:
        """Return whether a version of a document is in the graph."""
        version = self._of(document), _PARTS.sha256 == sha256
        return bool(await self._database.rows(select(_PARTS.id).where(*version)))

    async def add(
        self,
        document: str,
        sha256: str,
        passages: Sequence[NamedPassage],
        *,
        english: bool,
    ) -> None:
        """Store what was found in a version of a document, in place of what was there before."""
        async with self._database.writing() as connection:
            version = self._of(document), _PARTS.sha256 == sha256
            await connection.execute(delete(graph_parts).where(*version))
            new = insertion(connection, graph_parts).values(
                collection=self._collection,
                document=document,
                sha256=sha256,
                english=english,
                drawn_at=clock(connection),
                passages=_encode(passages),
            )
            # Another replica may have just added it.
            await connection.execute(new.on_conflict_do_nothing())

    async def all(self) -> list[Part]:
        """Return the versions of documents that are in it, of which not all need count."""
        columns = _PARTS.id, _PARTS.document, _PARTS.sha256, _PARTS.english
        rows = await self._database.rows(
            select(*columns).where(_PARTS.collection == self._collection)
        )
        return [Part(*row) for row in rows]

    async def settle(self, document: str, old: str, new: str = "") -> None:
        """Delete the version of a document that has gone, and remains of crashes.

        Others may have drawn a version that they have yet to commit: it stays.

        Args:
            document: The document's name.
            old: The checksum of that version; empty if there was none.
            new: That of the version that took its place, if one did.
        """
        if not self._database.exists():
            return
        async with self._database.writing() as connection:
            left_over = _PARTS.drawn_at < clock(connection) - _LEFT_OVER_SECONDS
            gone = _PARTS.sha256 != new, or_(_PARTS.sha256 == old, left_over)
            await connection.execute(delete(graph_parts).where(self._of(document), *gone))

    async def remove(self) -> None:
        """Delete the graph."""
        if self._database.exists():
            async with self._database.writing() as connection:
                await connection.execute(
                    delete(graph_parts).where(_PARTS.collection == self._collection)
                )

    def _of(self, document: str) -> ColumnElement[bool]:
        return (_PARTS.collection == self._collection) & (_PARTS.document == document)


async def passages(database: KnowledgeDatabase, ids: Sequence[int]) -> dict[int, bytes]:
    """Return the passages of some parts, encoded; without parts that were deleted meanwhile."""
    rows = await database.rows(select(_PARTS.id, _PARTS.passages).where(_PARTS.id.in_(ids)))
    return {row.id: row.passages for row in rows}


async def drawn_collections(database: KnowledgeDatabase) -> set[str]:
    """Return the ids of the collections that have parts."""
    rows = await database.rows(select(_PARTS.collection).distinct())
    return {row.collection for row in rows}
