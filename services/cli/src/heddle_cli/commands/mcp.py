"""`heddle mcp`."""

import json
from typing import Annotated

import typer
from heddle.tool.v1.tool_pb2 import InspectMcpServerRequest
from heddle.tool.v1.tool_pb2_grpc import ToolServiceStub
from heddle_runtime.errors import InvalidRequestError

from heddle_cli.connections import connected
from heddle_cli.terminal import notes, out, plain

app = typer.Typer(help="Inspect MCP servers before assistants use them.", no_args_is_help=True)
_TIMEOUT = 60.0


@app.command("pins")
def pins(
    url: Annotated[
        str, typer.Argument(help="The address of the server, unless --command is set.")
    ] = "",
    *,
    command: Annotated[
        str, typer.Option(help="A command of HEDDLE_TOOLS_MCP_COMMANDS in place of the address.")
    ] = "",
    credential: Annotated[
        str, typer.Option(help="The credential for the server, in the organisation's settings.")
    ] = "",
    organization: Annotated[str, typer.Option(help="The organisation with these settings.")] = "",
) -> None:
    """Show the descriptions of an MCP server's tools, and print the pins that accept them.

    Read the descriptions before you accept them: models follow them.
    """
    request = InspectMcpServerRequest(
        organization=organization, url=url, command=command, credential=credential
    )
    with connected("tools", ToolServiceStub) as connection:
        tools = connection.stub.InspectMcpServer(request, timeout=_TIMEOUT).tools
    if not tools:
        raise InvalidRequestError("The server has no tools.")
    for each in tools:
        notes.print(plain(f"{each.name}: {each.description}"))
        notes.print(plain(each.input_schema_json), style="dim")
        if each.problem:
            notes.print(plain(each.problem), style="yellow")
    accepted = {each.name: each.pin for each in tools if each.pin}
    options = {"url": url, "command": command, "credential": credential}
    config = {name: value for name, value in options.items() if value}
    # ASCII: names of tools cannot control the terminal.
    out.print(json.dumps({**config, "tools": list(accepted), "pins": accepted}, indent=2))
