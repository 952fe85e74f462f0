"""The list of the collections: one small table, read anew when another process has changed it."""

import json
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from heddle_knowledge.embedders.embedding import EmbedderInfo
from heddle_knowledge.engines.conditions import Compare
from heddle_knowledge.engines.interface import Engine, Layout, Table
from heddle_knowledge.errors import (
    CollectionExistsError,
    StorageError,
    no_collection,
)
from heddle_knowledge.reading.metadata import read, written
from heddle_knowledge.records import EMBEDDED, Collection

TABLE = "collections"
DETAILS = "details"
_SCHEMA = pa.schema(
    [
        pa.field("name", pa.string(), nullable=False),
        pa.field("id", pa.string(), nullable=False),
        pa.field("title", pa.string(), nullable=False),
        pa.field("backend", pa.string(), nullable=False),
        pa.field("settings", pa.string(), nullable=False),
        pa.field("model", pa.string(), nullable=False),
        pa.field("dim", pa.int32(), nullable=False),
        pa.field("revision", pa.string(), nullable=False),
        pa.field("created_at", pa.int64(), nullable=False),  # microseconds since 1970, UTC
        # All that came later, as one JSON object; older stores have no such column.
        pa.field(DETAILS, pa.string()),
    ]
)


_LAYOUT = Layout(TABLE, _SCHEMA, keys=("id",))


class CollectionRegistry:
    """Knows every collection of the store. Callers hold the store's lock around changes."""

    def __init__(self, engine: Engine, table: Table) -> None:
        """Work on an open table."""
        self._engine = engine
        self._table = table
        self._seen_version = -1
        self._collections: dict[str, Collection] = {}

    @classmethod
    async def opened(cls, engine: Engine) -> "CollectionRegistry":
        """Open the table of a store, and make it in a new one. The store's lock must be held."""
        if TABLE in await engine.names():
            return cls(engine, await engine.open(TABLE, _LAYOUT))
        try:
            return cls(engine, await engine.make(TABLE, _LAYOUT))
        except engine.failures:  # an engine without locks, and somebody was faster
            return cls(engine, await engine.open(TABLE, _LAYOUT))

    async def all(self) -> Mapping[str, Collection]:
        """Return the collections by id, as of now.

        Raises:
            StorageError: The list cannot be read.
        """
        try:
            version = await self._table.version()
            if version == self._seen_version:
                return self._collections
            rows = (await self._table.rows(_SCHEMA.names)).to_pylist()
        except self._engine.failures as error:
            raise StorageError(
                "The list of collections could not be read. Check where the knowledge store is "
                "kept, and the log of the knowledge service."
            ) from error
        self._collections = {row["id"]: _collection(row) for row in rows}
        self._seen_version = version
        return self._collections

    async def get(self, name: str) -> Collection:
        """Return one collection by its id, or one of the operator's by its name.

        Raises:
            CollectionNotFoundError: There is none.
        """
        known = await self.all()
        collection = known.get(name) or _named(known, "", name)
        if collection is None:
            raise no_collection(name)
        return collection

    async def taken(self, collection: Collection) -> bool:
        """Say whether the organisation of a new collection has one of its name."""
        known = await self.all()
        return _named(known, collection.organization, collection.name) is not None

    async def add(self, collection: Collection) -> None:
        """Record a collection, on disk.

        Raises:
            CollectionExistsError: The name is taken.
        """
        if await self.taken(collection):
            raise _exists(collection)
        async with self._engine.committing(TABLE):
            await self._table.append(pa.Table.from_pylist([_row(collection)], schema=_SCHEMA))
        # Without locks two may get this far: then the first row has the name, and all agree.
        first = _named(await self.all(), collection.organization, collection.name)
        if first is not None and first.id != collection.id:
            await self.remove(collection)
            raise _exists(collection)

    async def change(self, collection: Collection) -> None:
        """Record a collection anew, on disk.

        Raises:
            CollectionNotFoundError: It was deleted meanwhile.
        """
        values = {"title": collection.title, DETAILS: written(collection)}
        async with self._engine.committing(TABLE):
            if not await self._table.update(values, Compare("id", "=", collection.id)):
                raise no_collection(collection.name)

    async def remove(self, collection: Collection) -> None:
        """Forget a collection, on disk."""
        async with self._engine.committing(TABLE):
            await self._table.delete(Compare("id", "=", collection.id))


def new_collection(
    name: str,
    title: str,
    backend: str,
    settings: Mapping[str, str],
    embedder: EmbedderInfo,
    **more: Any,  # noqa: ANN401 - the later fields of a collection
) -> Collection:
    """Describe a collection that is about to be made."""
    here = backend == EMBEDDED
    return Collection(
        name=name,
        title=title,
        backend=backend,
        settings=MappingProxyType(dict(settings)),
        model=embedder.model if here else "",
        dim=embedder.dim if here else 0,
        revision=embedder.revision if here else "",
        created_at=datetime.now(UTC),
        id=uuid.uuid4().hex,
        **more,
    )


def _exists(collection: Collection) -> CollectionExistsError:
    return CollectionExistsError(
        f"There is a collection {collection.name!r} already. Use it, delete it, or choose "
        "another name."
    )


def _named(known: Mapping[str, Collection], organization: str, name: str) -> Collection | None:
    same = (it for it in known.values() if (it.organization, it.name) == (organization, name))
    return next(same, None)


def _row(collection: Collection) -> dict[str, object]:
    return {
        "name": collection.name,
        "id": collection.id,
        "title": collection.title,
        "backend": collection.backend,
        "settings": json.dumps(dict(collection.settings)),
        "model": collection.model,
        "dim": collection.dim,
        "revision": collection.revision,
        "created_at": int(collection.created_at.timestamp() * 1_000_000),
        DETAILS: written(collection),
    }


def _collection(row: dict[str, object]) -> Collection:
    return Collection(
        name=str(row["name"]),
        title=str(row["title"]),
        backend=str(row["backend"]),
        settings=MappingProxyType(json.loads(str(row["settings"]))),
        model=str(row["model"]),
        dim=int(str(row["dim"])),
        revision=str(row["revision"]),
        created_at=datetime.fromtimestamp(int(str(row["created_at"])) / 1_000_000, UTC),
        id=str(row["id"]),
        **read(str(row.get(DETAILS) or "")),
    )
