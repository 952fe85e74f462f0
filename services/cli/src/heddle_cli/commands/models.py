"""`heddle models`."""

from typing import Annotated

import typer
from heddle.connector.v1 import connector_pb2
from heddle.connector.v1.connector_pb2_grpc import ConnectorServiceStub
from heddle_runtime.settings.addresses import CONNECTOR

from heddle_cli.connections import connected
from heddle_cli.options import ConnectorAddress
from heddle_cli.pages import pages
from heddle_cli.terminal import columns, notes, plain

_TIMEOUT = 30.0


def models(
    *,
    connector: Annotated[str, typer.Option(help="Only the models of this connector.")] = "",
    connector_address: ConnectorAddress = CONNECTOR,
) -> None:
    """List the available models: connector, model, title."""
    with connected(connector_address, ConnectorServiceStub) as connection:
        request = connector_pb2.ListModelsRequest(connector=connector)
        responses = list(pages(connection.stub.ListModels, request, _TIMEOUT))
    columns((m.ref.connector, m.ref.model, m.title) for page in responses for m in page.models)
    for problem in (problem for page in responses for problem in page.problems):
        notes.print(plain(f"{problem.connector}: {problem.message}"), style="yellow")
