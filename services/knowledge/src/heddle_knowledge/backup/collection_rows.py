"""Collections, and the passages of each with their vectors."""

import base64
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pyarrow as pa
from heddle_runtime.storage.database.table_rows import Row

from heddle_knowledge.collection import tables
from heddle_knowledge.collection.registry import CollectionRegistry, decoded, encoded
from heddle_knowledge.collection.store import CollectionStore
from heddle_knowledge.collection.types import EMBEDDED, Collection
from heddle_knowledge.engines.address import open_engine
from heddle_knowledge.engines.conditions import In
from heddle_knowledge.engines.interface import Engine

_READ, _WRITTEN = 500, 2_000
"""Passages of one piece."""
_VECTOR = "vector"


class CollectionRows:
    """The collections of a store that services may be using. Made by `open_collection_rows`."""

    def __init__(self, engine: Engine, store: CollectionStore) -> None:
        self._engine = engine
        self._registry = store.registry
        self._store = store

    async def all(self) -> list[Collection]:
        """Return the collections in the order of their ids."""
        return sorted((await self._registry.all()).values(), key=lambda it: it.id)

    async def passages(self, collection: Collection) -> AsyncIterator[dict[str, Any]]:
        """Yield the passages of a collection, as of one moment.

        Raises:
            CollectionNotFoundError: The collection was deleted meanwhile.
        """
        if collection.backend != EMBEDDED:
            return
        handle = await self._store.open(collection)
        layout = tables.layout(collection.dim, collection.language)
        name = f"{layout.kind}_{collection.id}"
        # Compaction would remove the files of the moment that is read.
        async with handle.using(), self._engine.locks.locked(f"{name}.upkeep"):
            async for part in self._engine.scan(name, layout, _READ):
                for row in _rows(part, collection.dim):
                    yield row
            await handle.check_exists()

    async def add(self, collections: AsyncIterable[Row]) -> None:
        """Add collections that have no passages yet."""
        async for row in collections:
            await self._store.add(decoded(row["record"]))

    async def add_passages(self, identifier: str, rows: AsyncIterable[Row]) -> None:
        """Add the passages of a collection, of which some may be there already."""
        documents: list[Row] = []
        async for row in rows:
            if len(documents) >= _WRITTEN and row["document"] != documents[-1]["document"]:
                await self._put(identifier, documents)
                documents = []
            documents.append(row)
        if documents:
            await self._put(identifier, documents)

    async def _put(self, identifier: str, rows: list[Row]) -> None:
        collection = (await self._registry.all())[identifier]
        handle = await self._store.open(collection)
        names = tuple({row["document"]: None for row in rows})
        async with handle.writing():
            await handle.table.replace(In("document", names), _table(rows, collection))

    def close(self) -> None:
        """Close the tables."""
        self._store.close()


@asynccontextmanager
async def open_collection_rows(
    place: str, options: Mapping[str, str]
) -> AsyncGenerator[CollectionRows]:
    """Open the collections at a place; see `engines.address`."""
    async with open_engine(place, options) as engine:
        async with engine.locks.locked("store"):
            registry = await CollectionRegistry.opened(engine)
        rows = CollectionRows(engine, CollectionStore(engine, registry))
        try:
            yield rows
        finally:
            rows.close()


async def clear(place: str, options: Mapping[str, str]) -> None:
    """Remove all collections, also one whose creation was broken off."""
    async with open_engine(place, options) as engine:
        for name in await engine.names():
            await engine.drop(name)
        await engine.locks.forget([])


def record(collection: Collection) -> dict[str, Any]:
    """Return the row of a collection."""
    return {"id": collection.id, "record": encoded(collection)}


def _rows(part: pa.Table, dim: int) -> Iterator[dict[str, Any]]:
    vectors = part.column(_VECTOR).combine_chunks().flatten().to_numpy(zero_copy_only=False)
    others = part.drop_columns([_VECTOR]).to_pylist()
    for row, vector in zip(others, vectors.astype("<f4").reshape(-1, dim), strict=True):
        yield row | {_VECTOR: vector.tobytes()}


def _table(rows: list[Row], collection: Collection) -> pa.Table:
    schema = tables.layout(collection.dim, collection.language).schema
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in schema.names}
    data = b"".join(base64.b64decode(each) for each in columns[_VECTOR])
    flat = pa.array(np.frombuffer(data, "<f4").astype(np.float32))
    columns[_VECTOR] = pa.FixedSizeListArray.from_arrays(flat, collection.dim)
    return pa.table(columns, schema=schema)
