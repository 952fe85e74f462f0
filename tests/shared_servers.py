"""The servers that replicas share: PostgreSQL with pgvector, and one that speaks S3."""

from collections.abc import Iterator

import pytest
from assistants.postgres import Postgres, postgres
from s3_server import S3Server, object_server

__all__ = ["object_server", "shared_servers", "vector_server"]


@pytest.fixture(scope="session")
def vector_server() -> Iterator[Postgres]:
    """A PostgreSQL with pgvector."""
    with postgres(wheel="pgserver") as server:
        yield server


@pytest.fixture(scope="module")
def shared_servers(vector_server: Postgres, object_server: S3Server) -> Iterator[dict[str, str]]:
    """Settings of services that share an empty database and a folder of a bucket."""
    with vector_server.database() as url:
        yield {
            "HEDDLE_ASSISTANTS_DATABASE": url,
            "HEDDLE_KNOWLEDGE_STORE_URL": url,
            **object_server.settings(vector_server.name(url)),
        }
