"""The strategies of the routing agent. Tools that fill slots run before it, in parallel."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

from heddle_orchestrator.tools.bindings import BoundTool
from heddle_orchestrator.tools.execution import Events, ToolRun, execute


@dataclass(frozen=True, slots=True)
class Routing:
    """Runs the tools that fill slots. The package `agent` runs those of mode `agent`."""

    name: str
    description: str
    router: str
    """The router's name; empty for the default of the assistant's connector."""

    def run(self, run: ToolRun, bound: Sequence[BoundTool]) -> AsyncGenerator[Events]:
        """Run the tools that fill slots."""
        return execute(run, bound)


ROUTING = (
    Routing(
        "agent",
        "Chooses its tools itself, by function calls; with the embedded model by labels.",
        "",
    ),
    Routing("agent_dspy", "Like agent; a DSPy program chooses.", "dspy"),
    Routing(
        "agent_label",
        "Like agent; the probabilities of one-word labels choose.",
        "label",
    ),
    Routing("agent_native", "Like agent; the model chooses by calling functions.", "native"),
    Routing("agent_rules", "Like agent; a fixed selection matrix chooses.", "rules"),
)
