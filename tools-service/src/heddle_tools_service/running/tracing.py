"""The span of the run of a tool."""

from functools import partial

from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.telemetry import spans

from heddle_tools_service.running.execution import Work

_TYPES = {"rag": "datastore", "lms": "extension"}
"""The types of the conventions by category. Other tools are functions."""
_EXTENSIONS = frozenset({"mcp", "web_search", "weather"})
"""Tools of other categories that call servers of others."""


def traced_run(
    running: Work, invocation: pb.ToolInvocation, context: pb.RunContext, category: str
) -> Work:
    """Return the run of a tool with its span; the run itself if the request was not drawn.

    Args:
        running: Runs the tool.
        invocation: The tool that runs.
        context: The context of the run.
        category: The category of the tool.
    """
    if not spans.is_drawn():
        return running
    attributes = partial(_attributes, invocation, category, routed=context.HasField("tree"))
    return spans.traced_call(running, f"execute_tool {invocation.name}", attributes=attributes)


def _attributes(invocation: pb.ToolInvocation, category: str, *, routed: bool) -> spans.Attributes:
    """Return the attributes. The id is the binding's, unless a model calls the tool."""
    called = invocation.HasField("function_call")
    mode = ("agent" if routed else "function") if called else "augment"
    is_extension = invocation.name in _EXTENSIONS
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": invocation.name,
        "gen_ai.tool.type": "extension" if is_extension else _TYPES.get(category, "function"),
        "gen_ai.tool.call.id" if called else "heddle.binding.id": invocation.id,
        "heddle.tool.mode": mode,
    }
