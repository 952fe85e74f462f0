"""What the tests of the service share."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from assistants.serving import Service, serving


@pytest.fixture
async def service(database_url: str) -> AsyncIterator[Service]:
    """A service over an empty database."""
    async with serving(database_url) as running:
        yield running


@pytest.fixture
async def embedded(tmp_path: Path) -> AsyncIterator[Service]:
    """A service for what no database has a say in."""
    async with serving(f"sqlite:///{tmp_path}/embedded.db") as running:
        yield running
