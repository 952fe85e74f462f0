"""A tool without effect, for assistants whose configuration must name a tool."""

from heddle_tools_service.sdk import NoOptions, ToolCall, ToolResult, tool


@tool("no_tool", title="No tool", label="None", slot="context", category="development")
async def no_tool(_: ToolCall[NoOptions]) -> ToolResult:
    """Adds nothing to the prompt."""
    return ToolResult("")
