"""The servers that replicas of the knowledge service share."""

from collections.abc import Iterator

import pytest
from assistants.postgres import Postgres, postgres
from s3_server import object_server

__all__ = ["database", "object_server", "vector_server"]


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
