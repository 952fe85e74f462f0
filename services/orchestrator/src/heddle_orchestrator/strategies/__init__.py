"""The ways of running an assistant's tools, by name."""

from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

from heddle_orchestrator.bindings import Bound
from heddle_orchestrator.execution import Events, ToolRun
from heddle_orchestrator.strategies.agent import ROUTING, Routing
from heddle_orchestrator.strategies.parallel import Parallel
from heddle_orchestrator.strategies.sequential import Sequential

DEFAULT = Parallel.name


__all__ = ["DEFAULT", "STRATEGIES", "Routing", "Strategy"]


class Strategy(Protocol):
    """A way of running tools."""

    @property
    def name(self) -> str:
        """The unique name."""

    @property
    def description(self) -> str:
        """What it does, in one sentence."""

    def run(self, run: ToolRun, bound: Sequence[Bound]) -> AsyncGenerator[Events]:
        """Run the tools, leave the outcomes in `bound`, yield what happens."""


_ALL: tuple[Strategy, ...] = (*ROUTING, Parallel(), Sequential())
STRATEGIES = {strategy.name: strategy for strategy in _ALL}
