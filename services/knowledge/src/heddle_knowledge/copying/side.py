"""One side of a copy: a store in a folder, or in PostgreSQL with or without an object store."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from heddle_runtime.object_store import ObjectStore

from heddle_knowledge.backup.collection_rows import CollectionRows
from heddle_knowledge.backup.file_rows import FileRows, open_file_rows
from heddle_knowledge.collection_registry import TABLE, CollectionRegistry
from heddle_knowledge.collection_store import CollectionStore, open_collection_store
from heddle_knowledge.engines.address import is_database, open_engine
from heddle_knowledge.engines.interface import Engine
from heddle_knowledge.errors import InvalidInputError, StorageError
from heddle_knowledge.graph.graphs import Graphs
from heddle_knowledge.graph.opening import open_graphs
from heddle_knowledge.pages.opening import open_pages
from heddle_knowledge.pages.places import PagePlace
from heddle_knowledge.records import EMBEDDED, Collection

_LANCE = ".lance"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a store is.

    Attributes:
        address: A folder, as HEDDLE_KNOWLEDGE_DATA_DIR names it, or `postgresql://…`.
        objects: Where the bytes of uploaded files and pictures are, if they are not in that
            database.
    """

    address: str
    objects: ObjectStore | None = None

    @property
    def folder(self) -> Path | None:
        """The folder; None for a database."""
        return None if is_database(self.address) else Path(self.address)


@dataclass(frozen=True, slots=True)
class Side:
    """An open store.

    Attributes:
        place: Where it is.
        engine: What stores the rows of its collections.
        collections: Its collections.
        files: Its uploaded files, and those of collections.
        graphs: The graphs of its collections.
        pages: The pages of its documents.
    """

    place: Place
    engine: Engine
    collections: CollectionStore
    files: FileRows
    graphs: Graphs
    pages: PagePlace

    async def records(self) -> Sequence[Collection]:
        """Return the records of all collections, by id."""
        records = await self.collections.registry.all()
        return [records[id_] for id_ in sorted(records)]

    async def embedded(self) -> Sequence[Collection]:
        """Return the records of the collections whose documents are in the store."""
        return [record for record in await self.records() if record.backend == EMBEDDED]

    @property
    def passages(self) -> CollectionRows:
        """The passages of its collections."""
        return CollectionRows(self.engine, self.collections, self.graphs)


@asynccontextmanager
async def open_source(place: Place) -> AsyncGenerator[Side]:
    """Open a store to read it. Nothing is changed there.

    Raises:
        InvalidInputError: There is none.
        StorageError: It cannot be read.
    """
    _check(place)
    folder = place.folder
    if folder is not None and not (folder / f"{TABLE}{_LANCE}").is_dir():
        raise _no_store(place)
    async with (
        open_engine(place.address, {}) as engine,
        open_file_rows(place.address, _beside(place, "uploads"), place.objects) as files,
        open_graphs(place.address, None, engine) as graphs,
        open_pages(place.address, _beside(place, "pages"), place.objects) as pages,
    ):
        try:
            if TABLE not in await engine.names():
                raise _no_store(place)
            registry = await CollectionRegistry.opened(engine)
        except engine.failures as error:
            raise StorageError("The store to copy from cannot be read.") from error
        yield Side(place, engine, CollectionStore(engine, registry), files, graphs, pages)


@asynccontextmanager
async def open_target(place: Place) -> AsyncGenerator[Side]:
    """Open a store to write to it. It is made if it is missing.

    Raises:
        StorageError: It cannot be written.
    """
    _check(place)
    async with (
        open_engine(place.address, {}) as engine,
        open_file_rows(place.address, _beside(place, "uploads"), place.objects) as files,
        open_collection_store(engine) as collections,
        open_graphs(place.address, None, engine) as graphs,
        open_pages(place.address, _beside(place, "pages"), place.objects) as pages,
    ):
        yield Side(place, engine, collections, files, graphs, pages)


def _check(place: Place) -> None:
    if "://" in place.address and not is_database(place.address):
        raise InvalidInputError(
            "A knowledge store can be copied from and to a folder or 'postgresql://…'."
        )


def _no_store(place: Place) -> InvalidInputError:
    where = place.folder or "this database"
    return InvalidInputError(
        f"There is no knowledge store in {where}. Name the folder HEDDLE_KNOWLEDGE_DATA_DIR, or "
        "the database HEDDLE_KNOWLEDGE_STORE_URL, of the service."
    )


def _beside(place: Place, folder: str) -> Path:
    """Return a folder beside the collections; a database needs none."""
    return (place.folder or Path()) / folder
