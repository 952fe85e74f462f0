"""The strategy `sequential`."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from heddle.tool.v1 import tool_pb2

from heddle_orchestrator.tools.bindings import BoundTool
from heddle_orchestrator.tools.execution import Events, ToolRun, execute


class Sequential:
    """Takes as long as all tools together."""

    name = "sequential"
    description = "Runs the tools in order; each receives the results of the earlier ones."

    async def run(self, run: ToolRun, bound: Sequence[BoundTool]) -> AsyncGenerator[Events]:
        """Run each tool in a call of its own."""
        earlier: list[tool_pb2.EarlierResult] = []
        for each in bound:
            async with aclosing(execute(run, [each], earlier)) as batches:
                async for events in batches:
                    yield events
            if each.error is None:
                earlier.append(
                    tool_pb2.EarlierResult(
                        id=each.id, tool=each.tool, slot=each.slot, text=each.text
                    )
                )
