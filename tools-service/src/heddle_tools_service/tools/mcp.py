"""Offers models the tools of an MCP server, as far as the assistant's author has accepted them."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Self

from pydantic import Field, model_validator

from heddle_tools_service.sdk import (
    CalledFunction,
    Function,
    HeldBack,
    Offered,
    RemoteAnswer,
    RemoteServer,
    RemoteSession,
    RemoteTool,
    ToolCall,
    ToolConfig,
    ToolError,
    ToolResult,
    tool,
)

_LONGEST_NAME = 64
_LONGEST_DESCRIPTION = 8_000
_LARGEST_SCHEMA = 64_000
_FOREIGN = re.compile(r"[^a-zA-Z0-9_-]")
_PIN = r"^sha256:[0-9a-f]{64}$"
_OF_TIME = 0.9
"""Of the time that the call has: so that the failure can still be told."""


class McpConfig(ToolConfig):
    """Which server, and what of it."""

    url: str = Field(
        default="",
        max_length=2_000,
        pattern=r"^$|^https?://[^\s/?#@\\]+(/[^\s?#\\]*)?$",
        description="Address of a server that speaks streamable HTTP, without query.",
        examples=["https://mcp.example.org/mcp"],
    )
    command: str = Field(
        default="",
        max_length=100,
        description="In place of the url: the name of a command that the operator allows "
        "(HEDDLE_TOOLS_MCP_COMMANDS).",
    )
    credential: str = Field(
        default="",
        max_length=100,
        description="Name of what opens the server, among mcp_servers in the settings of the "
        "assistant's organisation. Only for the url that stands there.",
    )
    tools: tuple[str, ...] = Field(
        default=(),
        max_length=100,
        description="The server's tools that the model may call, by the server's names.",
        examples=[["search"]],
    )
    pins: dict[str, str] = Field(
        default={},
        description="By a tool's name, the form in which it was accepted, as `heddle mcp pins` "
        "prints it. A tool that has none, or has changed since, is held back.",
        examples=[
            {"search": "sha256:cf74d694150d5d20ac2981ce50dc045f56f50c570380b49c98bcbca739bae995"}
        ],
    )
    timeout: float = Field(
        default=20.0, gt=0, le=300, description="Seconds that the server may take for a call."
    )

    @model_validator(mode="after")
    def _one_server(self) -> Self:
        if bool(self.url) == bool(self.command):
            raise ValueError("must name a server, by either url or command")
        if self.credential and not self.url:
            raise ValueError("can name a credential only beside a url")
        for name, pin in self.pins.items():
            if not re.fullmatch(_PIN, pin):
                message = f"must pin {name[:80]!r} with sha256: and 64 hexadecimal digits"
                raise ValueError(message)
        return self

    def server(self, seconds: float) -> RemoteServer:
        """Return the server, used for at most `seconds`."""
        return RemoteServer(
            self.url, self.command, self.credential, min(self.timeout, seconds * _OF_TIME)
        )


def pin(found: RemoteTool) -> str:
    """Return what tells one form of a tool from every other one.

    Raises:
        ValueError: It is no JSON.
    """
    form = {"name": found.name, "description": found.description, "input_schema": found.schema}
    text = json.dumps(form, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


async def offered(call: ToolCall[McpConfig]) -> Offered:
    """Return what the server has, sorted into what a model may call and what is held back."""
    config = call.config
    found = await call.servers.use(config.server(call.seconds), _tools)
    named = _named(config.tools)
    functions: list[Function] = []
    held_back = [
        HeldBack(name, "", {}, "", f"The MCP server has no tool {name[:80]!r}.")
        for name in config.tools
        if name not in {each.name for each in found}
    ]
    for each in found:
        if config.tools and each.name not in named:
            continue
        form, reason = _judged(each, config)
        if reason:
            held_back.append(HeldBack(each.name, each.description, each.schema, form, reason))
        else:
            schema = dict(each.schema)
            functions.append(Function(named[each.name], each.description, schema, dict))
    return Offered(functions, held_back)


@tool(
    "mcp",
    title="MCP server",
    config=McpConfig,
    offer=offered,
    slot="mcp",
    category="custom",
    modes=("function",),
)
async def mcp(call: ToolCall[McpConfig, CalledFunction]) -> ToolResult:
    """Offers the tools of an MCP server that the assistant's author has accepted."""
    config, called = call.config, call.arguments
    names = {function: name for name, function in _named(config.tools).items()}
    name = names.get(called.name)
    if name is None:
        raise ToolError(f"No function is named {called.name[:80]!r}.", kind="unknown_function")
    call.status(f"asking {config.command or config.url.split('/')[2]} for {name[:80]}")

    async def work(session: RemoteSession) -> RemoteAnswer:
        # Looked at again: between what the model read and now the server may have become another.
        for each in await session.tools():
            if each.name == name:
                _, reason = _judged(each, config)
                if reason:
                    raise ToolError(reason, kind="held_back")
                _check(called.arguments, each.schema)
                return await session.call(name, called.arguments)
        raise ToolError(f"The MCP server has no tool {name[:80]!r}.", kind="unknown_function")

    answer = await call.servers.use(config.server(call.seconds), work)
    left_out = f"[left out: {', '.join(answer.left_out)}]" if answer.left_out else ""
    text = "\n".join(filter(None, (answer.text, left_out)))
    if answer.failed:
        raise ToolError(text or f"{name} failed and did not say why.", kind="mcp_tool_error")
    return ToolResult(text)


async def _tools(session: RemoteSession) -> Sequence[RemoteTool]:
    return await session.tools()


def _judged(found: RemoteTool, config: McpConfig) -> tuple[str, str]:
    """Return a tool's pin, and why a model is not told of it; nothing if it is."""
    name = found.name[:80]
    try:
        form, size = pin(found), len(json.dumps(found.schema))
    except (ValueError, RecursionError):
        return "", f"The tool {name!r} has a schema that is no JSON. Its server must mend it."
    accepted = config.pins.get(found.name)
    accept = f"Look at what it says now (`heddle mcp pins`), then set pins.{name} to {form}."
    if size > _LARGEST_SCHEMA or len(found.description) > _LONGEST_DESCRIPTION:
        return "", f"The tool {name!r} is described at such length that no model is told of it."
    if found.name not in config.tools:
        return form, f"The tool {name!r} is not among `tools`. Add it there. {accept}"
    if accepted is None:
        return form, f"The tool {name!r} is held back: nobody has accepted it. {accept}"
    if accepted != form:
        reason = f"The tool {name!r} is held back: it has changed since it was accepted. {accept}"
        return form, reason
    return form, ""


def _named(tools: Sequence[str]) -> dict[str, str]:
    """Return by the server's names what models call the tools: fewer letters are allowed there."""
    named: dict[str, str] = {}
    for name in tools:
        wanted = _FOREIGN.sub("_", name)[:_LONGEST_NAME] or "_"
        free, number = wanted, 1
        while free in named.values():
            number += 1
            ending = f"_{number}"
            free = wanted[: _LONGEST_NAME - len(ending)] + ending
        named.setdefault(name, free)
    return named


_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int, float),
    "number": (int, float),
    "array": (list,),
    "object": (dict,),
}


def _check(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    """Refuse arguments that the server cannot want; the rest is the server's to judge.

    Its schema is not evaluated: that is a program of a stranger, and may run for ever.

    Raises:
        ToolError: Says what is wrong.
    """
    properties = schema.get("properties")
    known = properties if isinstance(properties, Mapping) else {}
    wanted = schema.get("required")
    required = wanted if isinstance(wanted, list) else []
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
