"""The leaderboard's stateful APIs as tools: one tool a method, one world a conversation."""

import json
import random
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from importlib import import_module
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from bfcl_eval.constants.executable_backend_config import (
    CLASS_FILE_PATH_MAPPING,
    MULTI_TURN_FUNC_DOC_FILE_MAPPING,
    STATELESS_CLASSES,
)
from heddle_tools_service.sdk import Function, Tool, ToolCall, ToolError, ToolResult

APIS = tuple(name for name in CLASS_FILE_PATH_MAPPING if "Memory" not in name and "Web" not in name)
DATA = Path(str(distribution("bfcl-eval").locate_file("bfcl_eval/data")))
PLUGIN = """
from integration.bfcl.apis import tools
globals().update(tools(__name__))
"""
"""What a file in the folder of plugins says, to offer all of them."""
_TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": None}
_SCHEMA_MEMBERS = ("description", "enum", "required")


WORLDS: dict[str, Mapping[str, Any]] = {}
"""What the conversations that go on work on: objects by their class, by the name in the
configuration of their tools."""


def begin(name: str, apis: list[str], initial: Mapping[str, Any], *, long: bool) -> None:
    """Make a world as the leaderboard makes it."""
    WORLDS[name] = {
        api: getattr(import_module(CLASS_FILE_PATH_MAPPING[api]), api)() for api in apis
    }
    for api, created in WORLDS[name].items():
        if api not in STATELESS_CLASSES:
            configuration = json.loads(json.dumps(initial.get(api, {})))
            created._load_scenario(configuration, long_context=long)  # noqa: SLF001 - the leaderboard's way in


@cache
def methods(api: str) -> list[dict[str, Any]]:
    """Return what the leaderboard tells models of an API: function objects."""
    lines = (DATA / "multi_turn_func_doc" / MULTI_TURN_FUNC_DOC_FILE_MAPPING[api]).read_text()
    return [json.loads(line) for line in lines.splitlines()]


def tool_of(api: str, method: str) -> str:
    return f"{api}_{method}".lower()


def tools(module: str) -> dict[str, Tool]:
    """Return a tool for each method of each API, as a module of this name would define them."""
    created = [_tool(module, api, declaration) for api in APIS for declaration in methods(api)]
    return {tool.name: tool for tool in created}


def _tool(module: str, api: str, declaration: Mapping[str, Any]) -> Tool:
    name = declaration["name"]

    async def run(call: ToolCall[dict[str, Any]]) -> ToolResult:
        method = getattr(WORLDS[call.config["world"]][api], name)
        try:
            return ToolResult(_written(method(**call.arguments)))
        except Exception as error:
            raise ToolError(str(error), kind="failed") from error

    return Tool(
        name=tool_of(api, name),
        title=name,
        description=declaration["description"],
        slot="context",
        schema={"type": "object", "properties": {"world": {"type": "string"}}},
        parse=dict,
        run=run,
        modes=("function",),
        module=module,
        effect="read_only",
        function=Function(
            name, declaration["description"], schema(declaration["parameters"]), dict
        ),
    )


def schema(declaration: Mapping[str, Any]) -> dict[str, Any]:
    """Return JSON Schema for what the leaderboard says of a type.

    Its words for types are Python's, and its defaults are words for people: leaving an argument
    out is what takes a method's own.
    """
    created = {name: declaration[name] for name in _SCHEMA_MEMBERS if name in declaration}
    if kind := _TYPES.get(declaration.get("type", ""), declaration.get("type")):
        created["type"] = kind
    if "properties" in declaration:
        created["properties"] = {
            name: schema(inner) for name, inner in declaration["properties"].items()
        }
    if "items" in declaration:
        created["items"] = schema(declaration["items"])
    return created


def plain(value: object, seen: tuple[int, ...] = ()) -> Any:
    """Return an object's state, private members included, as values that compare."""
    if isinstance(value, str | int | float | bool | None):
        return value
    if isinstance(value, datetime) or id(value) in seen:  # a folder knows the one that it lies in
        return f"some {type(value).__name__}"
    inside = (*seen, id(value))
    match value:
        case random.Random():
            return value.getstate()
        case list() | tuple() | set():
            return [plain(inner, inside) for inner in value]
        case dict():
            return {key: plain(inner, inside) for key, inner in value.items()}
        case _:
            return plain(vars(value), inside) if hasattr(value, "__dict__") else repr(value)


def _written(found: object) -> str:
    """Return a result in the leaderboard's form."""
    if isinstance(found, str):
        return found
    if isinstance(found, dict):
        try:
            return json.dumps(found)
        except TypeError:
            pass
    return str(found)
