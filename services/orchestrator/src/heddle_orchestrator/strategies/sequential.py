"""One tool after another, each with what the earlier ones found."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from heddle.tool.v1 import tool_pb2

from heddle_orchestrator.bindings import Bound
from heddle_orchestrator.execution import Events, ToolRun, execute


class Sequential:
    """Takes as long as all tools together."""

    name = "sequential"
    description = "Runs the tools in order; each sees what the earlier ones found."

    async def run(self, run: ToolRun, bound: Sequence[Bound]) -> AsyncGenerator[Events]:
        """Run the tools in a call each."""
        earlier: list[tool_pb2.EarlierResult] = []
        for each in bound:
            async with aclosing(execute(run, [each], earlier)) as happened:
                async for events in happened:
                    yield events
            if each.error is None:
                earlier.append(
                    tool_pb2.EarlierResult(
                        id=each.id, tool=each.tool, slot=each.slot, text=each.text
                    )
                )
