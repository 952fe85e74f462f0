"""`heddle health`."""

from collections.abc import Iterator

import typer
from heddle.health.v1 import health_pb2
from heddle.health.v1.health_pb2_grpc import HealthServiceStub
from heddle_runtime.errors import HeddleError
from heddle_runtime.serving.optional import optional_service_names
from heddle_runtime.settings.addresses import (
    ASSISTANTS,
    CONNECTOR,
    KNOWLEDGE,
    MIGRATION,
    ORCHESTRATOR,
    TOOLS,
)
from heddle_runtime.settings.service_address import Location

from heddle_cli.connections import connected, replicas
from heddle_cli.failures import sentence
from heddle_cli.options import (
    AsJson,
    AssistantsAddress,
    ConnectorAddress,
    KnowledgeAddress,
    MigrationAddress,
    OrchestratorAddress,
    ToolsAddress,
)
from heddle_cli.terminal import show

_TIMEOUT = 5.0
_MEMBERS = ("service", "name", "ready", "summary", "problem")
Row = tuple[str, str, str, str, str]


def health(
    *,
    orchestrator_address: OrchestratorAddress = ORCHESTRATOR,
    tools_address: ToolsAddress = TOOLS,
    knowledge_address: KnowledgeAddress = KNOWLEDGE,
    connector_address: ConnectorAddress = CONNECTOR,
    assistants_address: AssistantsAddress = ASSISTANTS,
    migration_address: MigrationAddress = MIGRATION,
    as_json: AsJson = False,
) -> None:
    """List what the services need: service, component, state, summary, problem.

    Each replica of a service is asked. The exit code is 1 if one of them is not ready.
    """
    addresses = {
        "orchestrator": orchestrator_address,
        "tools": tools_address,
        "knowledge": knowledge_address,
        "connector": connector_address,
        "assistants": assistants_address,
        **({"migration": migration_address} if "migration" in optional_service_names() else {}),
    }
    rows = [row for name, address in addresses.items() for row in _rows(name, address)]
    members = [dict(zip(_MEMBERS, row, strict=True)) for row in rows]
    components = [{**each, "ready": each["ready"] == "ready"} for each in members]
    show({"components": components}, rows, as_json=as_json)
    if any(state == "not ready" for _, _, state, *_ in rows):
        raise typer.Exit(1)


def _rows(service: str, address: str) -> Iterator[Row]:
    try:
        locations = replicas(address)
    except HeddleError as error:
        yield service, "", "not ready", "", sentence(error)
        return
    for each in locations:
        yield from _replica_rows(service if len(locations) == 1 else f"{service} {each}", each)


def _replica_rows(replica: str, location: Location) -> Iterator[Row]:
    try:
        with connected(location, HealthServiceStub) as connection:
            response = connection.stub.GetHealth(health_pb2.GetHealthRequest(), timeout=_TIMEOUT)
    except HeddleError as error:
        yield replica, "", "not ready", "", sentence(error)
        return
    ready = all(each.ready for each in response.components)
    yield replica, "", "ready" if ready else "not ready", "", ""
    for each in response.components:
        state = "ready" if each.ready else "not ready"
        yield replica, each.name, state, each.summary, each.problem
