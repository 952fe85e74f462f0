"""The places of pages: a folder, and a database with and without an object store."""

import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

import pytest
from assistants.postgres import Postgres, postgres
from heddle_knowledge.pages.collection_pages import CollectionPages
from heddle_knowledge.pages.page_place import PagePlace, open_pages
from heddle_runtime.storage.object_store import ObjectStore
from s3_server import BUCKET, S3Server, object_server

__all__ = ["object_server", "vector_server"]
PLACES = ("folder", "database", "objects")
COLLECTION = "1" * 32


@pytest.fixture(scope="session")
def vector_server() -> Iterator[Postgres]:
    """A PostgreSQL with pgvector."""
    with postgres(wheel="pgserver") as server:
        yield server


@dataclass(frozen=True)
class Address:
    """Where pages are."""

    place: str
    folder: Path
    prefix: str = ""
    server: S3Server | None = None

    @property
    def objects(self) -> ObjectStore | None:
        """A client of the object store."""
        if self.server is None:
            return None
        return ObjectStore(f"s3://{BUCKET}/{self.prefix}", self.server.options)

    @property
    def keys(self) -> list[str]:
        """The keys of all objects."""
        return self.server.keys(self.prefix) if self.server else []

    def opened(self) -> AbstractAsyncContextManager[PagePlace]:
        """Open it, as a process of its own does."""
        return open_pages(self.place, self.folder, self.objects)


@pytest.fixture(params=PLACES)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Address]:
    """Where the pages of a test are, in each kind of place in turn."""
    if request.param == "folder":
        yield Address("", tmp_path / "pages")
        return
    server: Postgres = request.getfixturevalue("vector_server")
    with server.database() as url:
        if request.param == "database":
            yield Address(url, tmp_path)
        else:
            prefix = secrets.token_hex(8)
            yield Address(url, tmp_path, prefix, request.getfixturevalue("object_server"))


@pytest.fixture
async def page_place(address: Address) -> AsyncIterator[PagePlace]:
    """The place, open."""
    async with address.opened() as opened:
        yield opened


@pytest.fixture
def collection_pages(page_place: PagePlace) -> CollectionPages:
    """The pages of a collection, which has none yet."""
    return page_place.of(COLLECTION)
