"""The parts of a collection's graph in a table of the engine, which all replicas share.

The process that answers reads a file. So each replica has a copy of the table in one, and brings
it up to date before a question. A part has the same number in both and is never changed: a new
version gets another number.
"""

import asyncio
import secrets
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pyarrow as pa

from heddle_knowledge.engines.conditions import All, Compare, Condition, In, Not, Some
from heddle_knowledge.engines.interface import Engine, Layout, Table
from heddle_knowledge.errors import StorageError
from heddle_knowledge.files.sqlite_files import remove
from heddle_knowledge.graph import parts
from heddle_knowledge.graph.records import DrawnPart, NamedPassage, Part

_KIND = "graph"
_BATCH = 100
"""Parts that are copied at once."""
_LAYOUT = Layout(
    _KIND,
    pa.schema(
        [
            pa.field("document", pa.string(), nullable=False),
            pa.field("sha256", pa.string(), nullable=False),
            pa.field("number", pa.int64(), nullable=False),
            pa.field("english", pa.bool_(), nullable=False),
            pa.field("drawn_at", pa.int64(), nullable=False),  # seconds since 1970
            pa.field("passages", pa.binary(), nullable=False),  # with their names, as msgpack
        ]
    ),
    keys=("document", "sha256"),
    chosen=("number",),
)
_PART = ("document", "sha256", "english", "passages")
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[NamedPassage]).decode


class TableParts:
    """The parts in a table, which is made with the first of them. See `PartStore`."""

    def __init__(self, engine: Engine, collection: str, copy: Path) -> None:
        """Prepare.

        Args:
            engine: Has the table.
            collection: The id of the collection.
            copy: The file for the copy on this machine.
        """
        self._engine = engine
        self._name = f"{_KIND}_{collection}"
        self._copy = copy
        self._copying = asyncio.Lock()
        self._copied_version = -1

    async def has(self, part: Part) -> bool:
        """Return whether a version of a document is in the graph."""
        table = await self._opened()
        return table is not None and bool(await self._count(table, _is(part)))

    async def add(self, drawn: DrawnPart) -> None:
        """Store what was found in a version of a document."""
        row = {
            "document": drawn.part.document,
            "sha256": drawn.part.sha256,
            "number": secrets.randbits(62),
            "english": drawn.english,
            "drawn_at": int(time.time()),
            "passages": _encode(drawn.passages),
        }
        rows = pa.Table.from_pylist([row], schema=_LAYOUT.schema)
        table = await self._opened() or await self._new_table()
        try:
            await table.replace(_is(drawn.part), rows)
        except self._engine.failures as error:
            raise _not_stored() from error

    async def get(self, part: Part) -> DrawnPart | None:
        """Return the names of a version of a document."""
        if (table := await self._opened()) is None:
            return None
        return next(_parts(await self._rows(table, _PART, _is(part))), None)

    async def all(self) -> list[Part]:
        """Return the versions of documents that are in the graph."""
        if (table := await self._opened()) is None:
            return []
        rows = await self._rows(table, ("document", "sha256"), All(()))
        return [Part(row["document"], row["sha256"]) for row in rows.to_pylist()]

    async def delete(self, part: Part) -> None:
        """Delete a version of a document."""
        await self._delete(_is(part))

    async def settle(self, document: str, old: str, new: str) -> None:
        """Delete the version `old` of a document, and remains of crashes, but not `new`."""
        latest = int(time.time()) - parts.LEFT_OVER_SECONDS
        gone = Some((Compare("sha256", "=", old), Compare("drawn_at", "<", latest)))
        own = Compare("document", "=", document)
        await self._delete(All((own, Not(Compare("sha256", "=", new)), gone)))

    async def file(self) -> Path:
        """Bring the copy up to date, and return it."""
        table = await self._opened()
        if table is None:
            await self.remove()
            return self._copy
        try:
            async with self._copying:
                await self._update_copy(table)
        except self._engine.failures as error:
            raise _not_read() from error
        return self._copy

    async def purge(self) -> None:
        """Do nothing: `KnowledgeDatabase.clean_up` removes deleted rows."""

    async def forget_gone(self) -> None:
        """Remove the copy if it has versions that are not in the table."""
        async with self._copying:
            table = await self._opened() if self._copy.exists() else None
            if table is None:
                return
            current = (await self._rows(table, ["number"], All(()))).column("number").to_pylist()
            if await asyncio.to_thread(parts.numbers, self._copy) - set(current):
                await self.remove()

    async def remove(self) -> None:
        """Remove the copy."""
        await asyncio.to_thread(remove, self._copy)

    async def _update_copy(self, table: Table) -> None:
        version = await table.version()
        if version == self._copied_version and self._copy.exists():
            return
        rows = await table.rows(["number"])
        current = set(rows.column("number").to_pylist())
        copied = await asyncio.to_thread(parts.numbers, self._copy)
        await asyncio.to_thread(parts.replace_parts, self._copy, copied - current, [])
        missing = sorted(current - copied)
        for start in range(0, len(missing), _BATCH):
            some = In("number", tuple(missing[start : start + _BATCH]))
            rows = await table.rows(["number", *_PART], some)
            drawn = list(zip(rows.column("number").to_pylist(), _parts(rows), strict=True))
            await asyncio.to_thread(parts.replace_parts, self._copy, [], drawn)
        self._copied_version = version

    async def _opened(self) -> Table | None:
        """Return the table, None if there is none yet."""
        try:
            return await self._engine.open(self._name, _LAYOUT)
        except self._engine.failures as error:
            try:
                if self._name not in await self._engine.names():
                    return None
                # It may be of another replica, which has made it meanwhile.
                return await self._engine.open(self._name, _LAYOUT)
            except self._engine.failures:
                raise _not_read() from error

    async def _new_table(self) -> Table:
        try:
            return await self._engine.make(self._name, _LAYOUT)
        except self._engine.failures as error:
            if table := await self._opened():  # another replica was faster
                return table
            raise _not_stored() from error

    async def _delete(self, where: Condition) -> None:
        if (table := await self._opened()) is None:
            return
        try:
            await table.delete(where)
        except self._engine.failures as error:
            raise _not_stored() from error

    async def _count(self, table: Table, where: Condition) -> int:
        try:
            return await table.count(where)
        except self._engine.failures as error:
            raise _not_read() from error

    async def _rows(self, table: Table, columns: Sequence[str], where: Condition) -> pa.Table:
        try:
            return await table.rows(columns, where)
        except self._engine.failures as error:
            raise _not_read() from error


def _is(part: Part) -> Condition:
    return All((Compare("document", "=", part.document), Compare("sha256", "=", part.sha256)))


def _parts(rows: pa.Table) -> Iterator[DrawnPart]:
    for row in rows.to_pylist():
        part = Part(row["document"], row["sha256"])
        yield DrawnPart(part, row["english"], _decode(row["passages"]))


def _not_read() -> StorageError:
    return StorageError("The graph cannot be read. Try again later, or tell the operator.")


def _not_stored() -> StorageError:
    return StorageError("The graph cannot be stored. Ingest the document again later.")
