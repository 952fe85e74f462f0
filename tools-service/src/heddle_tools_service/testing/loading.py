"""Loads tools from files, as the service does."""

from pathlib import Path

from heddle_tools_service.capability_injection import Capabilities
from heddle_tools_service.registry import Registry
from heddle_tools_service.sdk import Tool
from heddle_tools_service.testing.example_capabilities import REQUESTABLE


def load(path: str | Path, *more: type) -> Tool:
    """Return the tool that the file at `path` defines.

    Args:
        path: A Python file with one tool, whose folder becomes the folder of plugins.
        more: Classes that the tool may request besides Heddle's capabilities.

    Raises:
        ValueError: The file does not load, or does not define exactly one tool. The message says
            why.
    """
    file = Path(path).resolve()
    registry = Registry.discover(file.parent, requestable(*more))
    origin = f"folder:{file.name}"
    problems = [each.message for each in registry.problems if each.origin == origin]
    tools = [each.tool for each in registry if registry.origin(each.name) == origin]
    if problems or len(tools) != 1:
        message = " ".join(problems) or f"{file.name} defines {len(tools)} tools instead of one."
        raise ValueError(message)
    return tools[0]


def requestable(*more: type) -> Capabilities:
    """Return capabilities that tools can request and not use, for loading without running."""

    def unavailable(_: object) -> object:
        raise AssertionError("this registry only loads tools: run them with run_tool")

    return Capabilities(dict.fromkeys([*REQUESTABLE, *more], unavailable))
