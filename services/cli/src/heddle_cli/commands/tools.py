"""`heddle tools`."""

import json
import sys
from typing import Annotated, Any

import typer
from heddle.tool.v1 import tool_pb2
from heddle.tool.v1.tool_pb2_grpc import ToolServiceStub
from heddle_runtime.contract.struct_codec import from_struct, to_struct
from heddle_runtime.errors import InvalidRequestError

from heddle_cli.connections import connected
from heddle_cli.options import AsJson
from heddle_cli.pages import whole
from heddle_cli.terminal import columns, notes, out, plain, show

app = typer.Typer(help="List tools and validate their configurations.", no_args_is_help=True)

_MEMBERS = ("name", "category", "origin", "isolation", "description")


@app.command("list")
def list_tools(*, as_json: AsJson = False) -> None:
    """List the tools: name, category, origin, where it runs, description; then the problems."""
    with connected("tools", ToolServiceStub) as connection:
        response = whole(connection.stub.ListTools, tool_pb2.ListToolsRequest())
    rows = [
        (
            *(tool.name, tool.category, tool.origin, _place(tool.isolation)),
            tool.description or tool.title,
        )
        for tool in response.tools
    ]
    members = [dict(zip(_MEMBERS, row, strict=True)) for row in rows]
    show({"tools": members}, rows, as_json=as_json)
    for problem in response.problems:
        notes.print(plain(f"skipped {problem.origin}: {problem.message}"), style="yellow")


@app.command("validate")
def validate(
    name: Annotated[str, typer.Argument(help="The tool's name.")],
    config: Annotated[
        typer.FileText,
        typer.Argument(help="A file with the configuration, or - for standard input."),
    ],
) -> None:
    """Validate a tool's configuration; print it with its defaults, or list its errors."""
    try:
        struct = to_struct(_read_object(config.read()))
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InvalidRequestError(f"{config.name} is not a configuration: {reason}") from None
    request = tool_pb2.ValidateToolConfigRequest(name=name, config=struct)
    with connected("tools", ToolServiceStub) as connection:
        response = connection.stub.ValidateToolConfig(request)
    if response.violations:
        columns((v.field, v.description) for v in response.violations)
        raise typer.Exit(1)
    effective = from_struct(response.effective_config)
    # Escaped so that text cannot control the terminal; sorted because a Struct has no order.
    escape = not sys.stdout.isatty()
    out.print(json.dumps(effective, indent=2, sort_keys=True, ensure_ascii=escape))


def _place(isolation: tool_pb2.ToolIsolation.ValueType) -> str:
    """Return where a tool runs: in the `service`, or in a `process` of its own."""
    return tool_pb2.ToolIsolation.Name(isolation).removeprefix("TOOL_ISOLATION_").lower()


def _read_object(text: str) -> dict[str, Any]:
    value = json.loads(text)
    if not isinstance(value, dict):
        message = "it must be a JSON object"
        raise ValueError(message)  # noqa: TRY004 - wrong content, as malformed JSON is
    return value
