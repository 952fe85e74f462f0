"""Clients of the services behind the gateway."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import grpc
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import Message
from grpc_health.v1 import health_pb2
from heddle.account.v1 import account_pb2, account_pb2_grpc
from heddle.assistant.v1 import assistant_pb2, assistant_pb2_grpc
from heddle.connector.v1 import connector_pb2, connector_pb2_grpc
from heddle.knowledge.v1 import files_pb2, files_pb2_grpc, knowledge_pb2, knowledge_pb2_grpc
from heddle.migration.v1 import record_pb2, record_pb2_grpc
from heddle.orchestrator.v1 import orchestrator_pb2, orchestrator_pb2_grpc
from heddle.rubric.v1 import rubric_pb2, rubric_pb2_grpc
from heddle.tool.v1 import tool_pb2, tool_pb2_grpc
from heddle.usage.v1 import usage_pb2, usage_pb2_grpc
from heddle_runtime.call_metadata import new_call_options
from heddle_runtime.client import channel
from heddle_runtime.errors import ResourceExhaustedError, from_rpc

from heddle_gateway.settings import GatewaySettings

if TYPE_CHECKING:  # grpc's generated stubs have their asynchronous form only in the type files
    from heddle.account.v1.account_pb2_grpc import AccountServiceAsyncStub
    from heddle.assistant.v1.assistant_pb2_grpc import AssistantServiceAsyncStub
    from heddle.connector.v1.connector_pb2_grpc import ConnectorServiceAsyncStub
    from heddle.knowledge.v1.files_pb2_grpc import FileServiceAsyncStub
    from heddle.knowledge.v1.knowledge_pb2_grpc import KnowledgeServiceAsyncStub
    from heddle.migration.v1.record_pb2_grpc import RecordServiceAsyncStub
    from heddle.orchestrator.v1.orchestrator_pb2_grpc import OrchestratorServiceAsyncStub
    from heddle.rubric.v1.rubric_pb2_grpc import RubricServiceAsyncStub
    from heddle.tool.v1.tool_pb2_grpc import ToolServiceAsyncStub
    from heddle.usage.v1.usage_pb2_grpc import UsageServiceAsyncStub

Check = Callable[[], Awaitable[bool]]
ResponseT = TypeVar("ResponseT")
MAX_PAGES = 100
CHECK_TIMEOUT = 2.0
SERVICES: dict[str, tuple[ServiceDescriptor, ...]] = {
    "orchestrator": (orchestrator_pb2.DESCRIPTOR.services_by_name["OrchestratorService"],),
    "tools": (tool_pb2.DESCRIPTOR.services_by_name["ToolService"],),
    "knowledge": (
        knowledge_pb2.DESCRIPTOR.services_by_name["KnowledgeService"],
        files_pb2.DESCRIPTOR.services_by_name["FileService"],
    ),
    "connector": (connector_pb2.DESCRIPTOR.services_by_name["ConnectorService"],),
    "assistants": (
        assistant_pb2.DESCRIPTOR.services_by_name["AssistantService"],
        account_pb2.DESCRIPTOR.services_by_name["AccountService"],
        rubric_pb2.DESCRIPTOR.services_by_name["RubricService"],
        usage_pb2.DESCRIPTOR.services_by_name["UsageService"],
    ),
    "migration": (record_pb2.DESCRIPTOR.services_by_name["RecordService"],),
}
"""The contracts at each address."""


@dataclass(frozen=True, slots=True)
class ServiceClients:
    """Clients of the services that the gateway calls."""

    orchestrator: "OrchestratorServiceAsyncStub"
    tools: "ToolServiceAsyncStub"
    knowledge: "KnowledgeServiceAsyncStub"
    files: "FileServiceAsyncStub"
    connectors: "ConnectorServiceAsyncStub"
    assistants: "AssistantServiceAsyncStub"
    records: "RecordServiceAsyncStub"
    accounts: "AccountServiceAsyncStub"
    rubrics: "RubricServiceAsyncStub"
    usage: "UsageServiceAsyncStub"
    checks: Mapping[str, Check] = field(default_factory=dict)
    """By service name, the check whether it is available."""

    @classmethod
    def over(
        cls,
        orchestrator: Any,  # noqa: ANN401 - a channel to another process or within this one
        tools: Any,  # noqa: ANN401 - as above
        knowledge: Any,  # noqa: ANN401 - as above
        connector: Any,  # noqa: ANN401 - as above
        assistants: Any,  # noqa: ANN401 - as above
        migration: Any,  # noqa: ANN401 - as above
    ) -> "ServiceClients":
        """Return the clients for these channels, of `grpc.aio` or `InProcessChannel`."""
        connections = (orchestrator, tools, knowledge, connector, assistants, migration)
        channels = dict(zip(SERVICES, connections, strict=True))
        return cls(
            orchestrator_pb2_grpc.OrchestratorServiceStub(orchestrator),
            tool_pb2_grpc.ToolServiceStub(tools),
            knowledge_pb2_grpc.KnowledgeServiceStub(knowledge),
            files_pb2_grpc.FileServiceStub(knowledge),
            connector_pb2_grpc.ConnectorServiceStub(connector),
            assistant_pb2_grpc.AssistantServiceStub(assistants),
            record_pb2_grpc.RecordServiceStub(migration),
            account_pb2_grpc.AccountServiceStub(assistants),
            rubric_pb2_grpc.RubricServiceStub(assistants),
            usage_pb2_grpc.UsageServiceStub(assistants),
            {
                name: _check(each) if isinstance(each, grpc.aio.Channel) else _available
                for name, each in channels.items()
            },
        )


@asynccontextmanager
async def connect(settings: GatewaySettings) -> AsyncGenerator[ServiceClients]:
    """Yield the clients for the addresses of `settings`."""
    addresses = (
        settings.orchestrator_address,
        settings.tools_address,
        settings.knowledge_address,
        settings.connector_address,
        settings.assistants_address,
        settings.migration_address,
    )
    async with AsyncExitStack() as open_channels:
        yield ServiceClients.over(
            *[
                await open_channels.enter_async_context(channel(address, *services))
                for address, services in zip(addresses, SERVICES.values(), strict=True)
            ]
        )


async def call(
    method: Callable[..., Awaitable[ResponseT]],
    request: Message,
    timeout: float,  # noqa: ASYNC109 - the deadline of the call
) -> ResponseT:
    """Return the response of a service to a request on behalf of the caller.

    Raises:
        HeddleError: The call failed.
    """
    try:
        return await method(request, **new_call_options(timeout))
    except grpc.aio.AioRpcError as error:
        raise from_rpc(error) from error


async def pages(
    method: Callable[..., Awaitable[Any]],
    request: Any,  # noqa: ANN401 - the request of any List call
    timeout: float,  # noqa: ASYNC109 - the deadline of the calls
) -> AsyncGenerator[Any]:
    """Yield all pages of a `List…` call.

    Raises:
        HeddleError: A call failed, or the list has too many pages.
    """
    for _ in range(MAX_PAGES):
        page = await call(method, request, timeout)
        yield page
        if not page.next_page_token:
            return
        next_request = type(request)()
        next_request.CopyFrom(request)
        next_request.page_token = page.next_page_token
        request = next_request
    raise ResourceExhaustedError("The list has too many pages.")


async def _available() -> bool:
    """Return that a service of this process is available."""
    return True


def _check(connection: grpc.aio.Channel) -> Check:
    health: Callable[..., Awaitable[health_pb2.HealthCheckResponse]] = connection.unary_unary(
        "/grpc.health.v1.Health/Check",
        health_pb2.HealthCheckRequest.SerializeToString,
        health_pb2.HealthCheckResponse.FromString,
    )

    async def check() -> bool:
        try:
            response = await health(health_pb2.HealthCheckRequest(), timeout=CHECK_TIMEOUT)
        except grpc.aio.AioRpcError:
            return False
        return response.status == health_pb2.HealthCheckResponse.SERVING

    return check
