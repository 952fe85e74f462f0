"""The orchestrator among scripted neighbours."""

from collections.abc import AsyncIterator

import pytest
from orchestrator.bench import Bench, orchestrating


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    """An orchestrator between a scripted tool service and a scripted connector."""
    async with orchestrating() as running:
        yield running
