"""The list of the collections: one small table, read anew when another process has changed it."""

import uuid
from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import msgspec
import pyarrow as pa

from heddle_tools_service.knowledge.embedding import EmbedderInfo
from heddle_tools_service.knowledge.engines.conditions import Compare
from heddle_tools_service.knowledge.engines.interface import Engine, Layout, Table
from heddle_tools_service.knowledge.errors import (
    CollectionExistsError,
    CollectionNotFoundError,
    StorageError,
)
from heddle_tools_service.knowledge.records import EMBEDDED, Collection

TABLE = "catalogue"
LAYOUT = Layout(
    TABLE,
    pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("organization", pa.string(), nullable=False),
            pa.field("name", pa.string(), nullable=False),
            # The whole collection as JSON: what is added to it needs no column.
            pa.field("record", pa.string(), nullable=False),
        ]
    ),
    keys=("id",),
)


class Catalogue:
    """Knows every collection of the store. Callers hold the store's lock around changes."""

    def __init__(self, engine: Engine, table: Table) -> None:
        """Work on an open table."""
        self._engine = engine
        self._table = table
        self._seen_version = -1
        self._collections: Mapping[str, Collection] = MappingProxyType({})

    @classmethod
    async def opened(cls, engine: Engine) -> "Catalogue":
        """Open the table of a store, and make it in a new one. The store's lock must be held."""
        if TABLE in await engine.names():
            return cls(engine, await engine.open(TABLE, LAYOUT))
        try:
            return cls(engine, await engine.make(TABLE, LAYOUT))
        except engine.failures:  # an engine without locks, and somebody was faster
            return cls(engine, await engine.open(TABLE, LAYOUT))

    async def all(self) -> Mapping[str, Collection]:
        """Return the collections by id, as of now.

        Raises:
            StorageError: The list cannot be read.
        """
        try:
            version = await self._table.version()
            if version == self._seen_version:
                return self._collections
            rows = (await self._table.rows(["id", "record"])).to_pylist()
        except self._engine.failures as error:
            raise StorageError(
                "The list of collections could not be read. Check where the knowledge store is "
                "kept, and the log of the tools service."
            ) from error
        self._collections = MappingProxyType({row["id"]: _read(row["record"]) for row in rows})
        self._seen_version = version
        return self._collections

    async def find(self, name: str, organization: str = "") -> Collection | None:
        """Return an organisation's collection of a name, if there is one."""
        for collection in (await self.all()).values():
            if (collection.name, collection.organization) == (name, organization):
                return collection
        return None

    async def get(self, name: str, organization: str = "") -> Collection:
        """Return an organisation's collection of a name.

        Raises:
            CollectionNotFoundError: There is none.
        """
        collection = await self.find(name, organization)
        if collection is None:
            raise CollectionNotFoundError(
                f"There is no collection {name!r}. List the collections, or create it first."
            )
        return collection

    async def add(self, collection: Collection) -> None:
        """Record a collection, on disk.

        Raises:
            CollectionExistsError: The organisation has one of the name.
        """
        if await self.find(collection.name, collection.organization):
            raise _taken(collection)
        async with self._engine.committing(TABLE):
            await self._table.append(_rows([collection]))
        # Without locks two may get this far: then the first row has the name, and all agree.
        ids = [
            other.id
            for other in (await self.all()).values()
            if (other.name, other.organization) == (collection.name, collection.organization)
        ]
        if ids[0] != collection.id:
            await self.remove(collection)
            raise _taken(collection)

    async def change(self, collection: Collection) -> None:
        """Record a collection, on disk, in place of what was known under its id."""
        async with self._engine.committing(TABLE):
            await self._table.replace(_of(collection), _rows([collection]))

    async def remove(self, collection: Collection) -> None:
        """Forget a collection, on disk."""
        async with self._engine.committing(TABLE):
            await self._table.delete(_of(collection))


def new_collection(
    name: str, title: str, backend: str, settings: Mapping[str, str], embedder: EmbedderInfo
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
    )


def _taken(collection: Collection) -> CollectionExistsError:
    return CollectionExistsError(
        f"There is a collection {collection.name!r} already. Use it, delete it, or choose "
        "another name."
    )


def _of(collection: Collection) -> Compare:
    return Compare("id", "=", collection.id)


def _rows(collections: list[Collection]) -> pa.Table:
    rows = [
        {
            "id": each.id,
            "organization": each.organization,
            "name": each.name,
            "record": msgspec.json.encode(each, enc_hook=_plain).decode(),
        }
        for each in collections
    ]
    return pa.Table.from_pylist(rows, schema=LAYOUT.schema)


def _plain(value: Any) -> object:  # noqa: ANN401 - as msgspec calls it
    if isinstance(value, MappingProxyType):
        return dict(value)
    raise NotImplementedError


def _read(record: str) -> Collection:
    collection = msgspec.json.decode(record, type=Collection)
    values = {each.name: getattr(collection, each.name) for each in fields(collection)}
    frozen = {
        name: MappingProxyType(value) for name, value in values.items() if isinstance(value, dict)
    }
    return replace(collection, **frozen)  # type: ignore[arg-type]  # they are the mappings that it has
