"""The routing agent among scripted neighbours."""

from collections.abc import AsyncIterator

import pytest
from orchestrator.agent.scripted import Routed, routed


@pytest.fixture
async def agent() -> AsyncIterator[Routed]:
    """An orchestrator between scripted tools and a scripted model."""
    async with routed() as running:
        yield running
