"""Strategies for running an assistant's tools, by name."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from heddle.tool.v1 import tool_pb2

from heddle_orchestrator.settings_schemas import AGENT_SETTINGS, TOOL_SETTINGS
from heddle_orchestrator.tools.bindings import BoundTool
from heddle_orchestrator.tools.execution import Events, ToolRun, execute

DEFAULT = "parallel"


async def _run_in_order(run: ToolRun, bound: Sequence[BoundTool]) -> AsyncGenerator[Events]:
    earlier: list[tool_pb2.EarlierResult] = []
    for each in bound:
        async with aclosing(execute(run, [each], earlier)) as batches:
            async for events in batches:
                yield events
        if each.error is None:
            earlier.append(
                tool_pb2.EarlierResult(id=each.id, tool=each.tool, slot=each.slot, text=each.text)
            )


@dataclass(frozen=True, slots=True)
class Strategy:
    """A way of running the tools of an assistant."""

    name: str
    description: str
    """One sentence."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The JSON Schema of the members of an assistant that it reads."""
    router: str | None = None
    """The router of the routing agent, which runs the tools of mode `agent`: its name, or empty for
    the default of the assistant's connector. None: the strategy has no agent."""
    run: Callable[[ToolRun, Sequence[BoundTool]], AsyncGenerator[Events]] = execute
    """Runs the tools that fill slots, stores the outcomes in them, and yields the events."""


_ALL = (
    Strategy(
        "agent",
        "Chooses its tools itself, by function calls; with the embedded model by labels.",
        AGENT_SETTINGS,
        "",
    ),
    Strategy("agent_dspy", "Like agent; a DSPy program chooses.", AGENT_SETTINGS, "dspy"),
    Strategy(
        "agent_label",
        "Like agent; the probabilities of one-word labels choose.",
        AGENT_SETTINGS,
        "label",
    ),
    Strategy(
        "agent_native",
        "Like agent; the model chooses by calling functions.",
        AGENT_SETTINGS,
        "native",
    ),
    Strategy(
        "agent_rules", "Like agent; a fixed selection matrix chooses.", AGENT_SETTINGS, "rules"
    ),
    Strategy("parallel", "Runs all tools in parallel.", TOOL_SETTINGS),
    Strategy(
        "sequential",
        "Runs the tools in order; each receives the results of the earlier ones.",
        TOOL_SETTINGS,
        run=_run_in_order,
    ),
)
STRATEGIES = {strategy.name: strategy for strategy in _ALL}
