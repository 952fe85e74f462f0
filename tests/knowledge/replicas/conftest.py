"""The servers that replicas of the knowledge service share."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from assistants.postgres import Postgres, postgres
from s3_server import S3Server, s3_server


@pytest.fixture(scope="session")
def vector_server() -> Iterator[Postgres]:
    """A PostgreSQL with pgvector."""
    with postgres(wheel="pgserver") as server:
        yield server


@pytest.fixture(scope="session")
def object_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A server that speaks S3."""
    folder: Path = tmp_path_factory.mktemp("s3")
    with s3_server(folder) as server:
        yield server


@pytest.fixture
def database(vector_server: Postgres) -> Iterator[str]:
    """The address of an empty database."""
    with vector_server.database() as url:
        yield url
