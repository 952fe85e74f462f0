"""Checks the arguments that a model sends to a tool of an MCP server."""

from collections.abc import Mapping
from typing import Any

from heddle_tools_service.sdk import ToolError

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int, float),
    "number": (int, float),
    "array": (list,),
    "object": (dict,),
}


def check(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    """Refuse arguments that are missing, unknown or of a wrong type. The server checks the rest.

    The schema is not evaluated as a whole: it comes from outside and can be arbitrarily expensive.

    Raises:
        ToolError: Says what is wrong.
    """
    properties = schema.get("properties")
    known = properties if isinstance(properties, Mapping) else {}
    names = schema.get("required")
    required = names if isinstance(names, list) else []
    wrong = [f"{each} is required" for each in required if each not in arguments]
    for name, value in arguments.items():
        of_type = known[name].get("type") if isinstance(known.get(name), Mapping) else None
        expected = _TYPES.get(of_type) if isinstance(of_type, str) else None
        # `type`, because Python's booleans are numbers.
        if expected is not None and type(value) not in expected:
            wrong.append(f"{name[:80]} must be of type {of_type}")
        if name not in known and schema.get("additionalProperties") is False:
            wrong.append(f"{name[:80]} is not an argument of this function")
    if wrong:
        raise ToolError(f"The arguments are wrong: {'; '.join(map(str, wrong))}.", kind="arguments")
