"""All tools at once. The default."""

from collections.abc import AsyncGenerator, Sequence

from heddle_orchestrator.bindings import Bound
from heddle_orchestrator.execution import Events, ToolRun, execute


class Parallel:
    """Takes as long as the slowest tool."""

    name = "parallel"
    description = "Runs all tools at once."

    def run(self, run: ToolRun, bound: Sequence[Bound]) -> AsyncGenerator[Events]:
        """Run the tools in one call of the tool service."""
        return execute(run, bound)
