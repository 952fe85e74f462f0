"""Strategies for running an assistant's tools, by name."""

from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

from heddle_orchestrator.strategies.agent import ROUTING, Routing
from heddle_orchestrator.strategies.parallel import Parallel
from heddle_orchestrator.strategies.sequential import Sequential
from heddle_orchestrator.tools.bindings import BoundTool
from heddle_orchestrator.tools.execution import Events, ToolRun

DEFAULT = Parallel.name


__all__ = ["DEFAULT", "STRATEGIES", "Routing", "Strategy"]


class Strategy(Protocol):
    """Runs the tools that fill slots."""

    @property
    def name(self) -> str:
        """The unique name."""

    @property
    def description(self) -> str:
        """One sentence about the strategy."""

    def run(self, run: ToolRun, bound: Sequence[BoundTool]) -> AsyncGenerator[Events]:
        """Run the tools, store the outcomes in `bound`, and yield the events."""


_ALL: tuple[Strategy, ...] = (*ROUTING, Parallel(), Sequential())
STRATEGIES = {strategy.name: strategy for strategy in _ALL}
