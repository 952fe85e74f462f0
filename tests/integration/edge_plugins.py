"""Files of tools for the tests of the edges: tools that leak, fail and wait, and unusable ones."""

PLUGIN = """
from app.tools._registry import ToolPlugin
definition = {{"type": "function", "function": {{"name": "{name}", "description": "Nothing.",
    "parameters": {parameters}}}}}
async def handler({handler}):
    return ""
plugin = ToolPlugin(definition, handler, enabled=lambda ctx: {enabled})
"""
CATEGORY = """
from heddle_tools_service.sdk import ToolResult, tool

@tool("category", title="C", category="other")
async def category(call):
    "C."
    return ToolResult("")
"""
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
NEVER_CALLED = {
    "token.py": (
        PLUGIN.format(
            name="token",
            parameters={"type": "object"},
            handler="args, ctx, on_status=None",
            enabled="bool(ctx.user_token)",
        ),
        "enabled(ctx) is false",
    ),
    "setting.py": (
        PLUGIN.format(
            name="setting",
            parameters={"type": "object"},
            handler="args, ctx, on_status=None",
            enabled="__import__('os').environ['NO_SUCH_SETTING']",
        ),
        "raises KeyError: 'NO_SUCH_SETTING'",
    ),
    "handler.py": (
        PLUGIN.format(
            name="handler", parameters={"type": "object"}, handler="args", enabled="True"
        ),
        "Write async def handler(args, ctx, ...)",
    ),
    "array.py": (
        PLUGIN.format(
            name="array",
            parameters={"type": "array"},
            handler="args, ctx, on_status=None",
            enabled="True",
        ),
        "accepts no JSON object",
    ),
    "closed.py": (
        PLUGIN.format(
            name="closed",
            parameters={"type": "object", "required": ["a"], "additionalProperties": False},
            handler="args, ctx, on_status=None",
            enabled="True",
        ),
        "requires 'a', but accepts no value of it",
    ),
    "name.py": (
        PLUGIN.format(
            name="not a name",
            parameters={"type": "object"},
            handler="args, ctx, on_status=None",
            enabled="True",
        ),
        "its name cannot be 'not a name'",
    ),
    "old.py": ("def rag_processor(messages):\n    return {}\n", "rag_processor cannot be called"),
    "category.py": (
        CATEGORY,
        "there is no category 'other'",
    ),
}
"""Files of tools that no caller can use, and what the report says."""
