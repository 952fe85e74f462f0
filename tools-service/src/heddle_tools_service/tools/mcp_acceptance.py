"""The tools of an MCP server that the author has accepted, and their names for models."""

import hashlib
import json
import re
from collections.abc import Sequence

from heddle_tools_service.capabilities.remote_servers import RemoteTool
from heddle_tools_service.tools.mcp_options import McpConfig

_MAX_NAME_CHARS = 64
_MAX_DESCRIPTION_CHARS = 8_000
_MAX_SCHEMA_BYTES = 64_000
_FOREIGN = re.compile(r"[^a-zA-Z0-9_-]")


def pin(remote_tool: RemoteTool) -> str:
    """Return the hash of a tool's name, description, schema and effect.

    A server that later calls a destructive tool harmless changes its form.

    Raises:
        ValueError: It is no JSON.
    """
    form = {
        "name": remote_tool.name,
        "description": remote_tool.description,
        "input_schema": remote_tool.schema,
    }
    if remote_tool.effect != "destructive":
        form["effect"] = remote_tool.effect
    text = json.dumps(form, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def acceptable_form(remote_tool: RemoteTool) -> tuple[str, str]:
    """Return a tool's pin, and why no author can accept it; one of both is empty."""
    name = remote_tool.name[:80]
    try:
        form, size = pin(remote_tool), len(json.dumps(remote_tool.schema))
    except (ValueError, RecursionError):
        return (
            "",
            f"The tool {name!r} has a schema that is no JSON. Its server must correct it.",
        )
    if size > _MAX_SCHEMA_BYTES or len(remote_tool.description) > _MAX_DESCRIPTION_CHARS:
        return "", (
            f"The tool {name!r} is not shown to models: its description may have "
            f"{_MAX_DESCRIPTION_CHARS:,} characters, its schema {_MAX_SCHEMA_BYTES:,} bytes. Its "
            "server must shorten them."
        )
    return form, ""


def judged(remote_tool: RemoteTool, config: McpConfig) -> tuple[str, str]:
    """Return a tool's pin, and why models cannot see it; an empty reason if they can."""
    name = remote_tool.name[:80]
    form, problem = acceptable_form(remote_tool)
    if problem:
        return "", problem
    accepted = {config.pins.get(remote_tool.name, ""), remote_tool.accepted} - {""}
    accept = f"Look at what it says now (`heddle mcp pins`), then set pins.{name} to {form}."
    if remote_tool.name not in config.tools:
        return form, f"The tool {name!r} is not among `tools`. Add it there. {accept}"
    if not accepted:
        return form, f"The tool {name!r} is held back: nobody has accepted it. {accept}"
    if form not in accepted:
        reason = f"The tool {name!r} is held back: it has changed since it was accepted. {accept}"
        return form, reason
    return form, ""


def listing(config: McpConfig, tools: Sequence[RemoteTool]) -> McpConfig:
    """Return a configuration that lists tools; one without an address means all accepted ones."""
    if config.tools or config.url or config.command:
        return config
    return config.model_copy(update={"tools": tuple(t.name for t in tools if t.accepted)})


def names(tools: Sequence[str]) -> dict[str, str]:
    """Return the names of functions by the server's names, which may contain more characters."""
    function_names: dict[str, str] = {}
    for name in tools:
        preferred = _FOREIGN.sub("_", name)[:_MAX_NAME_CHARS] or "_"
        free, number = preferred, 1
        while free in function_names.values():
            number += 1
            ending = f"_{number}"
            free = preferred[: _MAX_NAME_CHARS - len(ending)] + ending
        function_names.setdefault(name, free)
    return function_names
