"""`heddle models`."""

from typing import Annotated

import typer
from heddle.connector.v1 import connector_pb2
from heddle.connector.v1.connector_pb2_grpc import ConnectorServiceStub

from heddle_cli.connections import connected, new_call_options
from heddle_cli.options import CONNECTOR, ConnectorAddress
from heddle_cli.pages import pages
from heddle_cli.terminal import columns, notes, plain

_ASKING = 30.0


def models(
    *,
    connector: Annotated[str, typer.Option(help="Only the models of this connector.")] = "",
    connector_address: ConnectorAddress = CONNECTOR,
) -> None:
    """List the models that are ready to answer: connector, model, title."""
    service = connector_pb2.DESCRIPTOR.services_by_name["ConnectorService"]
    with connected(connector_address, service) as connection:
        stub = ConnectorServiceStub(connection.channel)
        responses = list(
            pages(
                lambda token: stub.ListModels(
                    connector_pb2.ListModelsRequest(page_token=token, connector=connector),
                    **new_call_options(_ASKING),
                )
            )
        )
    columns((m.ref.connector, m.ref.model, m.title) for page in responses for m in page.models)
    for problem in (problem for page in responses for problem in page.problems):
        notes.print(plain(f"{problem.connector}: {problem.message}"), style="yellow")
