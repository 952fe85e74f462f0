"""The agent chooses its tools itself; those that fill slots run before it, all at once."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

from heddle_orchestrator.bindings import Bound
from heddle_orchestrator.execution import Events, ToolRun, execute


@dataclass(frozen=True, slots=True)
class Routing:
    """What happens to the tools of mode `agent` is not the strategy's: see `agent`."""

    name: str
    description: str
    decider: str
    """Who decides; empty for the default of the assistant's connector."""

    def run(self, run: ToolRun, bound: Sequence[Bound]) -> AsyncGenerator[Events]:
        """Run the tools that fill slots."""
        return execute(run, bound)


ROUTING = (
    Routing(
        "agent",
        "Chooses its tools itself, by function calls; with the embedded model by labels.",
        "",
    ),
    Routing("agent_dspy", "Like agent; a DSPy program decides.", "dspy"),
    Routing("agent_label", "Like agent; the probability of one word decides.", "label"),
    Routing("agent_native", "Like agent; the model decides by calling functions.", "native"),
    Routing("agent_rules", "Like agent; a fixed selection matrix decides.", "rules"),
)
