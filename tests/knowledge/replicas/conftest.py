"""The servers that replicas of the knowledge service share."""

from collections.abc import Iterator

import pytest
from assistants.postgres import Postgres
from shared_servers import object_server, vector_server

__all__ = ["database", "object_server", "vector_server"]


@pytest.fixture
def database(vector_server: Postgres) -> Iterator[str]:
    """The address of an empty database."""
    with vector_server.database() as url:
        yield url
