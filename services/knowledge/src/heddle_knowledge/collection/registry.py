"""The list of the collections: one small table, read again when another process has changed it."""

import time
import uuid
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from typing import Any

import msgspec
import pyarrow as pa

from heddle_knowledge.collection.types import DEFAULT_ORGANIZATION, Collection
from heddle_knowledge.embedders.embedding import EmbedderInfo
from heddle_knowledge.engines.conditions import All, Compare
from heddle_knowledge.engines.interface import Engine, Layout, Table
from heddle_knowledge.errors import CollectionExistsError, StorageError, no_collection

TABLE = "collections"
_SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("record", pa.string(), nullable=False),  # the collection as JSON
        # When a document was deleted whose texts may still be in files, in nanoseconds; 0: never.
        pa.field("deleted_at", pa.int64(), nullable=False),
    ]
)
LAYOUT = Layout(TABLE, _SCHEMA, keys=("id",))
_encode = msgspec.json.Encoder(enc_hook=dict).encode  # mappings that cannot be changed
decoded = msgspec.json.Decoder(Collection).decode
"""Returns the collection of a record."""


def encoded(collection: Collection) -> str:
    """Return the record of a collection."""
    return _encode(collection).decode()


class CollectionRegistry:
    """Knows every collection of the store. Callers hold the store's lock around changes."""

    def __init__(self, engine: Engine, table: Table) -> None:
        self._engine = engine
        self._table = table
        self._seen_version = -1
        self._collections: dict[str, Collection] = {}
        self._references: defaultdict[str, list[Collection]] = defaultdict(list)
        self._purges = 2
        """The number of due purges: one rewrites the table, a later one removes old files."""

    @classmethod
    async def opened(cls, engine: Engine) -> "CollectionRegistry":
        """Open the table of a store, and create it in a new one. The store's lock must be held."""
        known = TABLE in await engine.names()
        first, second = (engine.open, engine.make) if known else (engine.make, engine.open)
        try:
            return cls(engine, await first(TABLE, LAYOUT))
        except engine.failures as error:
            # Without locks, another process may be faster. And SeaweedFS lists a table whose
            # objects are all deleted.
            try:
                return cls(engine, await second(TABLE, LAYOUT))
            except engine.failures:
                raise error from None

    async def reopen(self) -> None:
        """Let go of what the engine had in memory for the table."""
        self._table = await self._engine.open(TABLE, LAYOUT)

    async def all(self) -> Mapping[str, Collection]:
        """Return the collections by id, as of now.

        Raises:
            StorageError: The list cannot be read.
        """
        with self._using():
            version = await self._table.version()
            if version == self._seen_version:
                return self._collections
            rows = (await self._table.rows(["id", "record"])).to_pylist()
        self._collections = {row["id"]: decoded(row["record"]) for row in rows}
        self._references = defaultdict(list)
        for each in self._collections.values():
            for reference in {each.name, each.public_id, each.former_id}:
                self._references[reference].append(each)
        self._seen_version = version
        return self._collections

    async def named(self, reference: str) -> Sequence[Collection]:
        """Return the collections with a name, an identifier or a former one, as of now."""
        await self.all()
        return self._references.get(reference, ())

    async def get(self, name: str) -> Collection:
        """Return one collection by its id, or one of the default organisation by its name.

        Raises:
            CollectionNotFoundError: There is none.
        """
        known = await self.all()
        same = (each for each in self._references.get(name, ()) if each.name == name)
        at_home = (each for each in same if each.organization == DEFAULT_ORGANIZATION)
        collection = known.get(name) or next(at_home, None)
        if collection is None:
            raise no_collection(name)
        return collection

    async def taken(self, collection: Collection) -> bool:
        """Return whether the organisation of a new collection has one of its name or id."""
        return _clashing(await self.all(), collection) is not None

    async def add(self, collection: Collection) -> None:
        """Record a collection, on disk.

        Raises:
            CollectionExistsError: The name is taken.
        """
        if await self.taken(collection):
            raise _exists(collection)
        row = {"id": collection.id, "record": encoded(collection), "deleted_at": 0}
        async with self._committing():
            await self._table.append(pa.Table.from_pylist([row], schema=_SCHEMA))
        # Without locks two processes may get this far: the first row has the name, and all agree.
        first = _clashing(await self.all(), collection)
        if first is not None and first.id != collection.id:
            await self.remove(collection)
            raise _exists(collection)

    async def change(self, collection: Collection) -> None:
        """Replace the record of a collection, on disk.

        Raises:
            CollectionNotFoundError: It was deleted meanwhile.
        """
        values = {"record": encoded(collection)}
        async with self._committing():
            if not await self._table.update(values, Compare("id", "=", collection.id)):
                raise no_collection(collection.name)
        self._purges = 2

    async def remove(self, collection: Collection) -> None:
        """Remove a collection from the list, on disk."""
        async with self._committing():
            await self._table.delete(Compare("id", "=", collection.id))
        self._purges = 2

    async def note_deletion(self, identifier: str) -> None:
        """Record, on disk, that a document of a collection is about to be deleted."""
        async with self._committing():
            own = Compare("id", "=", identifier)
            await self._table.update({"deleted_at": time.time_ns()}, own)

    async def deletions(self) -> dict[str, int]:
        """Return the times of deletions in collections whose texts may still be in files."""
        with self._using():
            rows = await self._table.rows(["id", "deleted_at"], Compare("deleted_at", ">", 0))
        return {row["id"]: row["deleted_at"] for row in rows.to_pylist()}

    async def forget_deletion(self, identifier: str, deleted_at: int) -> None:
        """Record that nothing of what was deleted until then is in files any more."""
        own = All((Compare("id", "=", identifier), Compare("deleted_at", "=", deleted_at)))
        async with self._committing():
            await self._table.update({"deleted_at": 0}, own)
        self._purges = 2

    async def purge(self, version_seconds: float) -> None:
        """Leave nothing of removed collections, and of former records, in its files."""
        if self._purges:
            with self._using():
                await self._table.purge(version_seconds)
            self._purges -= 1

    @contextmanager
    def _using(self) -> Iterator[None]:
        """Give failures of the engine their meaning: StorageError."""
        try:
            yield
        except self._engine.failures as error:
            raise StorageError(
                "The list of collections could not be read or written. Check where the knowledge "
                "store is kept: free space, permissions, and the log of the knowledge service."
            ) from error

    @asynccontextmanager
    async def _committing(self) -> AsyncGenerator[None]:
        """Hold the write lock of the table around one commit, which is on disk afterwards."""
        with self._using():
            async with self._engine.locks.committing(TABLE):
                yield


def new_collection(
    name: str,
    backend: str,
    embedder: EmbedderInfo | None,
    **fields: Any,  # noqa: ANN401 - of a collection
) -> Collection:
    """Return the record of a collection that is about to be created."""
    return Collection(
        name=name,
        backend=backend,
        model=embedder.model if embedder else "",
        dim=embedder.dim if embedder else 0,
        revision=embedder.revision if embedder else "",
        created_at=datetime.now(UTC),
        id=uuid.uuid4().hex,
        **fields,
    )


def _exists(collection: Collection) -> CollectionExistsError:
    return CollectionExistsError(
        f"There is a collection {collection.name!r} already. Use it, delete it, or choose "
        "another name."
    )


def _clashing(known: Mapping[str, Collection], collection: Collection) -> Collection | None:
    """Return the first collection of the organisation with the same name or former identifier."""
    same = (
        it
        for it in known.values()
        if it.organization == collection.organization
        and (it.name == collection.name or (it.former_id and it.former_id == collection.former_id))
    )
    return next(same, None)
