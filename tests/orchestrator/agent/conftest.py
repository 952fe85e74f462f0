"""The routing agent among scripted neighbours."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from orchestrator.agent.scripted_services import Agent, routed


@pytest.fixture
async def agent() -> AsyncIterator[Agent]:
    """An orchestrator between scripted tools and a scripted model."""
    async with routed() as running:
        yield running


@dataclass(frozen=True)
class Runner:
    """The same in a loop of its own, for functions that are not asynchronous."""

    routed: Agent
    runner: asyncio.Runner

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        self.runner.run(work)


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    """One orchestrator for many runs."""
    with asyncio.Runner() as loop:
        running = routed()
        yield Runner(loop.run(running.__aenter__()), loop)
        loop.run(running.__aexit__(None, None, None))
