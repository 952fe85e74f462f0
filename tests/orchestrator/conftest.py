"""The orchestrator among scripted neighbours."""

from collections.abc import AsyncIterator

import pytest
from orchestrator.harness import Harness, orchestrating


@pytest.fixture
async def harness() -> AsyncIterator[Harness]:
    """An orchestrator between a scripted tool service and a scripted connector."""
    async with orchestrating() as running:
        yield running
