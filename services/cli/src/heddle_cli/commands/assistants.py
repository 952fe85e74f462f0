"""`heddle assistants`."""

from pathlib import Path
from typing import Annotated

import typer
from heddle.assistant.v1 import assistant_pb2
from heddle.assistant.v1.assistant_pb2_grpc import AssistantServiceStub
from heddle_conversion.assistant_file import AssistantFile, AssistantFileError, FileFault, read_file
from heddle_runtime.errors import InvalidRequestError

from heddle_cli.connections import connected
from heddle_cli.options import AsJson
from heddle_cli.pages import document, whole
from heddle_cli.terminal import notes, out, plain, show

app = typer.Typer(help="List assistants and validate their files.", no_args_is_help=True)


@app.command("list")
def list_assistants(*, as_json: AsJson = False) -> None:
    """List the assistants: id, name, title, description."""
    with connected("assistants", AssistantServiceStub) as connection:
        request = assistant_pb2.ListAssistantsRequest()
        response = whole(connection.stub.ListAssistants, request)
    rows = ((each.id, each.name, each.title, each.description) for each in response.assistants)
    show(document(response), rows, as_json=as_json)


@app.command("validate")
def validate(
    files: Annotated[list[Path], typer.Argument(help="YAML or JSON files of assistants.")],
) -> None:
    """Validate files of assistants, and store nothing.

    Prints a line for each fault, with its file and line. The exit code is 1 if there is a fault.
    """
    valid = True
    with connected("assistants", AssistantServiceStub) as connection:
        for path in files:
            file = _read(path)
            request = assistant_pb2.CreateAssistantRequest(
                assistant=file.assistant, validate_only=True
            )
            response = connection.stub.CreateAssistant(request)
            violations = [file.fault(v.field, v.description) for v in response.violations]
            faults = [*file.faults, *file.without_unread(violations)]
            for fault in sorted(faults, key=lambda each: each.line):
                out.print(plain(_line(path, fault)))
            for warning in response.warnings:
                fault = file.fault(warning.field, warning.description)
                notes.print(plain(_line(path, fault)), style="yellow")
            valid = valid and not faults
    if not valid:
        raise typer.Exit(1)


def _read(path: Path) -> AssistantFile:
    try:
        return read_file(path.read_bytes())
    except (OSError, AssistantFileError) as error:
        raise InvalidRequestError(f"{path} cannot be read: {error}") from None


def _line(path: Path, fault: FileFault) -> str:
    return f"{path}:{fault.line}: {f'{fault.field} {fault.problem}'.strip()}"
