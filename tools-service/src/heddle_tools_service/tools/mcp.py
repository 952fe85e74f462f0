"""Offers models the tools of an MCP server, as far as the assistant's author has accepted them."""

from heddle_tools_service.capabilities.remote_servers import (
    RemoteAnswer,
    RemoteServers,
    RemoteSession,
)
from heddle_tools_service.sdk import (
    CalledFunction,
    Function,
    FunctionOffer,
    HeldBackFunction,
    ToolCall,
    ToolError,
    ToolResult,
    tool,
)
from heddle_tools_service.tools.mcp_acceptance import judged, listing, names
from heddle_tools_service.tools.mcp_options import McpConfig

_MAX_FAILURE_CHARS = 2_000


async def offered(call: ToolCall[McpConfig], servers: RemoteServers) -> FunctionOffer:
    """Return the tools of the server that a model may call, and those that are held back."""
    config = call.config
    tools = await servers.use(config.server(call.seconds), lambda session: session.tools())
    config = listing(config, tools)
    function_names = names(config.tools)
    functions: list[Function] = []
    held_back = [
        HeldBackFunction(name, "", {}, "", f"The MCP server has no tool {name[:80]!r}.")
        for name in config.tools
        if name not in {each.name for each in tools}
    ]
    for each in tools:
        if config.tools and each.name not in function_names:
            continue
        form, reason = judged(each, config)
        if reason:
            held_back.append(
                HeldBackFunction(each.name, each.description, each.schema, form, reason)
            )
        else:
            schema = dict(each.schema)
            name = function_names[each.name]
            functions.append(Function(name, each.description, schema, dict, each.effect))
    return FunctionOffer(functions, held_back)


@tool(
    "mcp",
    title="MCP server",
    label="MCP",
    offer=offered,
    slot="mcp",
    category="custom",
    modes=("function", "agent"),
    effect="destructive",
)
async def mcp(call: ToolCall[McpConfig, CalledFunction], servers: RemoteServers) -> ToolResult:
    """Offers the tools of an MCP server that the assistant's author has accepted."""
    config, called = call.config, call.arguments
    place = config.command or config.credential or config.url.split("/")[2]
    call.status(f"asking {place} for {called.name[:80]}")

    async def work(session: RemoteSession) -> RemoteAnswer:
        # Checked again: the server may have changed since the model read its tools.
        tools = await session.tools()
        known = listing(config, tools)
        for each in tools:
            if names(known.tools).get(each.name) == called.name:
                _, reason = judged(each, known)
                if reason:
                    raise ToolError(reason, kind="held_back")
                return await session.call(each.name, called.arguments)
        raise ToolError(
            f"The MCP server has no tool {called.name[:80]!r}.", kind="unknown_function"
        )

    answer = await servers.use(config.server(call.seconds), work)
    left_out = f"[left out: {', '.join(answer.left_out)}]" if answer.left_out else ""
    text = "\n".join(filter(None, (answer.text, left_out)))
    if answer.failed:
        # The text is for the model, which corrects its call. Users do not read words of strangers.
        raise ToolError(
            f"The MCP server's tool {called.name[:80]!r} reports a failure.",
            kind="mcp_tool_error",
            details={"server_message": text[:_MAX_FAILURE_CHARS]},
            diagnosis=text[:_MAX_FAILURE_CHARS],
        )
    return ToolResult(text, name=called.name)
