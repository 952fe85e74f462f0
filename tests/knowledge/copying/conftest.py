"""A store to copy, and the servers of places to copy it to."""

import asyncio
from collections.abc import Iterator

import pytest
from assistants.postgres import Postgres, postgres
from heddle_knowledge.copying.side import Place
from knowledge.copying.stores import fill
from s3_server import object_server

__all__ = ["database", "filled", "object_server", "other_database", "vector_server"]


@pytest.fixture(scope="session")
def vector_server() -> Iterator[Postgres]:
    """A PostgreSQL with pgvector."""
    with postgres(wheel="pgserver") as server:
        yield server


@pytest.fixture
def database(vector_server: Postgres) -> Iterator[str]:
    """The address of an empty database."""
    with vector_server.database() as url:
        yield url


@pytest.fixture
def other_database(vector_server: Postgres) -> Iterator[str]:
    """The address of another empty database."""
    with vector_server.database() as url:
        yield url


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A store in a folder, which no test changes."""
    place = Place(str(tmp_path_factory.mktemp("filled")))
    asyncio.run(fill(place))
    return place
