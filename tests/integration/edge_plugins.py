"""Files of tools for the tests of the edges: tools that leak, fail and wait, and unusable ones."""

LEAKY = """
import logging
from heddle_tools_service.sdk import ToolCall, ToolConfig, ToolError, ToolResult, tool

class LeakyConfig(ToolConfig):
    "What it repeats, and where."

    token: str = ""
    sink: str = "output"

@tool("leaky", title="Leaky", slot="leaky")
async def leaky(call: ToolCall[LeakyConfig]) -> ToolResult:
    "Repeats a secret of its configuration."
    leak, sink = "Asked as " + call.config.token, call.config.sink
    if sink == "status":
        call.status(leak)
    if sink == "error":
        raise ToolError(leak)
    if sink == "library":
        logging.getLogger("some.library").warning("leaky: %s", leak)
        print("leaky:", leak, flush=True)
    if sink == "exception":
        try:
            raise KeyError(leak)
        except KeyError as error:
            raise RuntimeError("leaky: " + leak) from error
    return ToolResult(leak if sink == "output" else "Nothing.")
"""
BROKEN = """
from heddle_tools_service.sdk import ToolResult, tool

@tool("broken", title="Broken", slot="broken")
async def broken(call):
    "Raises an exception."
    raise RuntimeError("boom")
"""
SLEEPY = """
import asyncio
from heddle_tools_service.sdk import ToolResult, tool

@tool("sleepy", title="Sleepy", slot="slow")
async def sleepy(call):
    "Ends after the others."
    await asyncio.sleep(1)
    return ToolResult("Rested.")
"""
CLOSED_TOOL = """
from heddle_tools_service.sdk import ToolError, tool

@tool("closed", title="Closed", modes=("agent",), effect="read_only")
async def closed(call):
    "Looks into books."
    raise ToolError("The library has no such book.")
"""
