"""The places of pages: a folder, and a database with and without an object store."""

import asyncio
import secrets
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

import pytest
from assistants.postgres import Postgres, postgres
from heddle_knowledge.pages.opening import open_pages
from heddle_knowledge.pages.places import CollectionPages, PagePlace
from heddle_runtime.storage.object_store import ObjectStore
from s3_server import BUCKET, S3Server, object_server

__all__ = ["object_server", "vector_server"]
PLACES = ("folder", "database", "objects")
COLLECTION = "1" * 32
ResultT = TypeVar("ResultT")


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

    @contextmanager
    def opened(self) -> Iterator[PagePlace]:
        """Open it with an event loop in a thread, as a process of its own does."""
        loop = asyncio.new_event_loop()
        running = Thread(target=loop.run_forever)
        running.start()
        pages = open_pages(self.place, self.folder, self.objects)
        try:
            yield _done(pages.__aenter__(), loop)
        finally:
            _done(pages.__aexit__(None, None, None), loop)
            loop.call_soon_threadsafe(loop.stop)
            running.join()
            loop.close()


def _done(work: Coroutine[Any, Any, ResultT], loop: asyncio.AbstractEventLoop) -> ResultT:
    return asyncio.run_coroutine_threadsafe(work, loop).result()


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
def page_place(address: Address) -> Iterator[PagePlace]:
    """The place, open."""
    with address.opened() as opened:
        yield opened


@pytest.fixture
def collection_pages(page_place: PagePlace) -> CollectionPages:
    """The pages of a collection, which has none yet."""
    return page_place.of(COLLECTION)
