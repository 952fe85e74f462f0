"""`heddle models`."""

from typing import Annotated

import typer
from heddle.connector.v1 import connector_pb2
from heddle.connector.v1.connector_pb2_grpc import ConnectorServiceStub

from heddle_cli.connections import connected
from heddle_cli.options import AsJson
from heddle_cli.pages import whole
from heddle_cli.terminal import notes, plain, show

_TIMEOUT = 30.0


def models(
    *,
    connector: Annotated[str, typer.Option(help="Only the models of this connector.")] = "",
    as_json: AsJson = False,
) -> None:
    """List the available models: connector, model, title."""
    with connected("connector", ConnectorServiceStub) as connection:
        request = connector_pb2.ListModelsRequest(connector=connector)
        response = whole(connection.stub.ListModels, request, _TIMEOUT)
    rows = [(each.ref.connector, each.ref.model, each.title) for each in response.models]
    members = [dict(zip(("connector", "model", "title"), row, strict=True)) for row in rows]
    show({"models": members}, rows, as_json=as_json)
    for problem in response.problems:
        notes.print(plain(f"{problem.connector}: {problem.message}"), style="yellow")
