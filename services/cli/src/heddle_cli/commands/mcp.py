"""`heddle mcp`."""

import json
from typing import Annotated

import typer
from heddle.assistant.v1.assistant_pb2 import Assistant, ModelRef
from heddle.tool.v1 import tool_pb2
from heddle.tool.v1.tool_pb2_grpc import ToolServiceStub
from heddle_runtime.addresses import TOOLS
from heddle_runtime.errors import InvalidRequestError, from_status
from heddle_runtime.struct_codec import to_struct

from heddle_cli.connections import connected, new_call_options
from heddle_cli.options import ToolsAddress
from heddle_cli.terminal import notes, out, plain

app = typer.Typer(help="Inspect MCP servers before assistants use them.", no_args_is_help=True)
_TIMEOUT = 60.0
_NO_MODEL = ModelRef(connector="bypass", model="simple-bypass")


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
    tools_address: ToolsAddress = TOOLS,
) -> None:
    """Show the descriptions of an MCP server's tools, and print the pins that accept them.

    Read the descriptions before you accept them: models follow them.
    """
    options = {"url": url, "command": command, "credential": credential}
    config = {name: value for name, value in options.items() if value}
    invocation = tool_pb2.ToolInvocation(id="mcp", name="mcp", config=to_struct(config))
    request = tool_pb2.ListFunctionsRequest(
        invocations=[invocation], assistant=Assistant(organization=organization, model=_NO_MODEL)
    )
    with connected(tools_address, ToolServiceStub) as connection:
        [response] = connection.stub.ListFunctions(request, **new_call_options(_TIMEOUT)).functions
    if response.HasField("error"):
        raise from_status(response.error)
    if not response.held_back:
        raise InvalidRequestError("The server has no tools.")
    for each in response.held_back:
        declaration = each.declaration
        notes.print(plain(f"{declaration.name}: {declaration.description}"))
        notes.print(plain(declaration.parameters_schema_json), style="dim")
        if not each.pin:
            notes.print(plain(each.reason), style="yellow")
    accepted = {each.declaration.name: each.pin for each in response.held_back if each.pin}
    # ASCII: names of tools cannot control the terminal.
    out.print(json.dumps({**config, "tools": list(accepted), "pins": accepted}, indent=2))
