"""Tools to run: one that sleeps, and such as fail."""

import asyncio
from collections.abc import Callable

from heddle_tools_service.sdk import Tool, ToolCall, ToolConfig, ToolResult, tool
from pydantic import Field


class NapConfig(ToolConfig):
    """How long to sleep."""

    seconds: float = Field(default=0.05, ge=0, description="How long.")


@tool("nap", title="Nap", slot="nap")
async def nap(call: ToolCall[NapConfig]) -> ToolResult:
    """Sleeps."""
    call.status("sleeping")
    await asyncio.sleep(call.config.seconds)
    return ToolResult("rested")


def failing(raised: Callable[[], BaseException], name: str = "broken") -> Tool:
    @tool(name, title="Broken")
    async def broken(_: object) -> ToolResult:
        """Fails."""
        raise raised()

    return broken
