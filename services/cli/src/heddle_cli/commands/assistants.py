"""`heddle assistants`."""

from heddle.assistant.v1 import assistant_pb2
from heddle.assistant.v1.assistant_pb2_grpc import AssistantServiceStub
from heddle_runtime.addresses import ASSISTANTS

from heddle_cli.connections import connected
from heddle_cli.options import AssistantsAddress
from heddle_cli.pages import items
from heddle_cli.terminal import columns


def assistants(*, assistants_address: AssistantsAddress = ASSISTANTS) -> None:
    """List the assistants: id, name, title, description."""
    with connected(assistants_address, AssistantServiceStub) as connection:
        request = assistant_pb2.ListAssistantsRequest()
        assistants = items(connection.stub.ListAssistants, request, "assistants")
    columns((each.id, each.name, each.title, each.description) for each in assistants)
