"""The strategy `parallel`, the default."""

from collections.abc import AsyncGenerator, Sequence

from heddle_orchestrator.tools.bindings import BoundTool
from heddle_orchestrator.tools.execution import Events, ToolRun, execute


class Parallel:
    """Takes as long as the slowest tool."""

    name = "parallel"
    description = "Runs all tools in parallel."

    def run(self, run: ToolRun, bound: Sequence[BoundTool]) -> AsyncGenerator[Events]:
        """Run the tools in one call to the tools service."""
        return execute(run, bound)
