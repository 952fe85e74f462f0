"""The tools that the scripted models call, as a plugin that the tool service loads."""

PLUGIN = '''
from heddle_tools_service.sdk import (
    Source, ToolArguments, ToolCall, ToolConfig, ToolError, ToolResult, tool,
)
from pydantic import Field

class Pair(ToolArguments):
    a: int = Field(description="One number.")
    b: int = Field(default=1, ge=0, description="Another one.")

class Unit(ToolConfig):
    unit: str = Field(default="", description="What is counted.")

@tool(
    "adder", title="Adder", function="add", modes=("function",),
    effect="read_only",
)
async def adder(call: ToolCall[Unit, Pair]) -> ToolResult:
    """Adds two numbers."""
    call.status(f"adding {call.arguments.a} and {call.arguments.b}")
    return ToolResult.json({"sum": call.arguments.a + call.arguments.b, "unit": call.config.unit})

@tool("library", title="Library", modes=("augment", "function"), effect="read_only")
async def library(call: ToolCall[None]) -> ToolResult:
    """Looks words up."""
    return ToolResult(f"<{call.query}>", [Source("Book", "https://example.org/book")])

@tool("broken", title="Broken", modes=("function",), effect="read_only")
async def broken(call: ToolCall[None]) -> ToolResult:
    """Fails."""
    raise ToolError("No paper.", kind="empty", details={"tray": 2})
'''
