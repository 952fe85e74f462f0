"""Tools of modules in other formats than the SDK's."""

from types import ModuleType
from typing import Any

from heddle_tools_service.sdk import Tool
from heddle_tools_service.sdk.definition import Run


def legacy_tool(module: ModuleType, name: str, description: str, run: Run, **more: object) -> Tool:
    """Return a tool of a module that was not written for Heddle.

    Args:
        module: The module.
        name: The tool's name.
        description: Its description.
        run: Its function.
        more: Further members of `Tool`, in place of their defaults.
    """
    members: dict[str, Any] = {
        "title": title_of(name),
        "slot": "context",
        "schema": {},
        "category": "legacy",
        "parse": dict,
        **more,
    }
    return Tool(name=name, description=description, run=run, module=module.__name__, **members)


def title_of(name: object) -> str:
    """Return a name as the title of a tool."""
    return str(name).replace("_", " ").title()
