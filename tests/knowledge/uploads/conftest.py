"""What the tests of uploads share."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from knowledge.uploads.desk import Desk, serving
from shared_servers import object_server, vector_server

__all__ = ["desk", "object_server", "vector_server"]


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """The services, in a folder of the test."""
    async with serving(tmp_path) as running_desk:
        yield running_desk
