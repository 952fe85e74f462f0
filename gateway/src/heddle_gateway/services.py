"""Clients of the services behind the gateway."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import grpc
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import Message
from heddle.account.v1 import account_pb2, account_pb2_grpc
from heddle.assistant.v1 import (
    assistant_pb2,
    assistant_pb2_grpc,
    following_pb2,
    following_pb2_grpc,
    jobs_pb2,
    jobs_pb2_grpc,
    prompts_pb2,
    prompts_pb2_grpc,
    questions_pb2,
    questions_pb2_grpc,
    sharing_pb2,
    sharing_pb2_grpc,
    versions_pb2,
    versions_pb2_grpc,
)
from heddle.audit.v1 import audit_pb2, audit_pb2_grpc
from heddle.connector.v1 import connector_pb2, connector_pb2_grpc
from heddle.conversation.v1 import (
    batches_pb2,
    batches_pb2_grpc,
    conversation_pb2,
    conversation_pb2_grpc,
)
from heddle.group.v1 import group_pb2, group_pb2_grpc, insights_pb2, insights_pb2_grpc
from heddle.health.v1 import health_pb2, health_pb2_grpc
from heddle.knowledge.v1 import files_pb2, files_pb2_grpc, knowledge_pb2, knowledge_pb2_grpc
from heddle.migration.v1 import (
    migration_pb2,
    migration_pb2_grpc,
    record_pb2,
    record_pb2_grpc,
)
from heddle.orchestrator.v1 import orchestrator_pb2, orchestrator_pb2_grpc
from heddle.person.v1 import person_pb2, person_pb2_grpc
from heddle.rubric.v1 import rubric_pb2, rubric_pb2_grpc
from heddle.tool.v1 import tool_pb2, tool_pb2_grpc
from heddle.usage.v1 import usage_pb2, usage_pb2_grpc
from heddle_runtime.contract.limits import MAX_PAGE_SIZE
from heddle_runtime.errors import (
    HeddleError,
    ResourceExhaustedError,
    UnauthenticatedError,
    from_rpc,
)
from heddle_runtime.identity.call_metadata import new_call_options
from heddle_runtime.identity.service_credentials import ServiceCredentials
from heddle_runtime.rpc.client import service_channel, to_each_replica
from heddle_runtime.serving.optional import optional_service_names

from heddle_gateway.settings import GatewaySettings

ResponseT = TypeVar("ResponseT")
MAX_PAGES = 100
CALL_SECONDS = 60.0
"""The deadline of a call; uploads and searches need the most time."""
LIST_SECONDS = 8.0
"""Open WebUI waits ten seconds for a list of models."""
CHECK_SECONDS = 2.0
_SECRETS_DIFFER = (
    "All services need the same HEDDLE_IDENTITY_SECRET or HEDDLE_LOCAL_SECRET_FILE, and clocks "
    "that agree."
)
_UNREACHED = "Check that it runs, and that either all services or none have HEDDLE_TLS_CA."
_CONTRACTS: dict[str, tuple[Any, ...]] = {
    "orchestrator": (orchestrator_pb2,),
    "tools": (tool_pb2, person_pb2),
    "knowledge": (knowledge_pb2, files_pb2, person_pb2),
    "connector": (connector_pb2, person_pb2),
    "assistants": (
        assistant_pb2,
        batches_pb2,
        conversation_pb2,
        following_pb2,
        group_pb2,
        insights_pb2,
        jobs_pb2,
        prompts_pb2,
        questions_pb2,
        sharing_pb2,
        versions_pb2,
        account_pb2,
        rubric_pb2,
        usage_pb2,
        audit_pb2,
        person_pb2,
    ),
    "migration": (record_pb2, migration_pb2),
}
SERVICES: dict[str, tuple[ServiceDescriptor, ...]] = {
    name: tuple(each for module in modules for each in module.DESCRIPTOR.services_by_name.values())
    for name, modules in _CONTRACTS.items()
}
"""The contracts at each address."""
OPTIONAL = frozenset({"migration"})
"""Services that an installation may lack, and that no chat needs."""


@dataclass(frozen=True, slots=True)
class ServiceHealth:
    """The health of a service behind the gateway."""

    problem: str = ""
    """Why nothing is known of its components, with the remedy."""
    components: Sequence[health_pb2.Component] = ()
    version: str = ""
    """The version of Heddle that the service has, empty if it is not known."""

    @property
    def ready(self) -> bool:
        """Whether the service can work."""
        return not self.problem and all(each.ready for each in self.components)


class ServiceClients:
    """Clients of the services that the gateway calls."""

    def __init__(self, **channels: grpc.aio.Channel) -> None:
        """Create the clients for channels, to other processes or within this one, by service.

        Those of `OPTIONAL` may be missing.
        """
        orchestrator, tools = channels["orchestrator"], channels["tools"]
        knowledge, connector = channels["knowledge"], channels["connector"]
        assistants, migration = channels["assistants"], channels.get("migration")
        self.orchestrator = orchestrator_pb2_grpc.OrchestratorServiceStub(orchestrator)
        self.tools = tool_pb2_grpc.ToolServiceStub(tools)
        self.knowledge = knowledge_pb2_grpc.KnowledgeServiceStub(knowledge)
        self.files = files_pb2_grpc.FileServiceStub(knowledge)
        self.connectors = connector_pb2_grpc.ConnectorServiceStub(connector)
        self.assistants = assistant_pb2_grpc.AssistantServiceStub(assistants)
        self.batches = batches_pb2_grpc.BatchServiceStub(assistants)
        self.conversations = conversation_pb2_grpc.ConversationServiceStub(assistants)
        self.groups = group_pb2_grpc.GroupServiceStub(assistants)
        self.insights = insights_pb2_grpc.InsightServiceStub(assistants)
        self.prompts = prompts_pb2_grpc.PromptServiceStub(assistants)
        self.questions = questions_pb2_grpc.QuestionServiceStub(assistants)
        self.sharing = sharing_pb2_grpc.SharingServiceStub(assistants)
        self.versions = versions_pb2_grpc.VersionServiceStub(assistants)
        self.following = following_pb2_grpc.FollowingServiceStub(assistants)
        self.jobs = jobs_pb2_grpc.JobServiceStub(assistants)
        if migration is not None:
            self.migration = migration_pb2_grpc.MigrationServiceStub(migration)
            self.records = record_pb2_grpc.RecordServiceStub(migration)
        self.accounts = account_pb2_grpc.AccountServiceStub(assistants)
        self.rubrics = rubric_pb2_grpc.RubricServiceStub(assistants)
        self.usage = usage_pb2_grpc.UsageServiceStub(assistants)
        self.audit = audit_pb2_grpc.AuditServiceStub(assistants)
        self.persons = {
            "knowledge": person_pb2_grpc.PersonServiceStub(knowledge),
            "connector": person_pb2_grpc.PersonServiceStub(connector),
            "tools": person_pb2_grpc.PersonServiceStub(tools),
            "assistants": person_pb2_grpc.PersonServiceStub(assistants),
        }
        """The clients for personal data by service name, in the order of an erasure."""
        self.health = {
            name: health_pb2_grpc.HealthServiceStub(each) for name, each in channels.items()
        }
        """The clients of health by service name."""
        self.channels = channels
        """The channels by service name."""


@asynccontextmanager
async def connect(settings: GatewaySettings) -> AsyncGenerator[ServiceClients]:
    """Yield the clients for the addresses of `settings`."""
    missing = OPTIONAL - optional_service_names()
    async with AsyncExitStack() as open_channels:
        yield ServiceClients(
            **{
                name: await open_channels.enter_async_context(
                    service_channel(settings, getattr(settings, f"{name}_address"), *services)
                )
                for name, services in SERVICES.items()
                if name not in missing
            }
        )


async def call(
    method: Callable[..., Awaitable[ResponseT]],
    request: Message,
    timeout: float = CALL_SECONDS,  # noqa: ASYNC109 - the deadline of the call
) -> ResponseT:
    """Return the response of a service to a request on behalf of the caller.

    Raises:
        HeddleError: The call failed.
    """
    try:
        return await method(request, **new_call_options(timeout))
    except grpc.aio.AioRpcError as error:
        raise from_rpc(error) from error


async def items(
    method: Callable[..., Awaitable[Any]],
    request: Any,  # noqa: ANN401 - the request of any List call
    name: str,
    timeout: float = CALL_SECONDS,  # noqa: ASYNC109 - the deadline of each call
) -> list[Any]:
    """Return the items of all pages of a `List…` call, which are in the field `name`.

    Raises:
        HeddleError: A call failed, or the list has too many pages.
    """
    collected: list[Any] = []
    token = ""
    for _ in range(MAX_PAGES):
        page_request = type(request)(page_size=MAX_PAGE_SIZE, page_token=token)
        page_request.MergeFrom(request)
        page = await call(method, page_request, timeout)
        collected += getattr(page, name)
        if not (token := page.next_page_token):
            return collected
    raise ResourceExhaustedError("The list has too many pages.")


async def component_health(
    stub: "health_pb2_grpc.HealthServiceAsyncStub", credentials: ServiceCredentials
) -> ServiceHealth:
    """Return the health of a service, which the call shows to accept the gateway's tokens."""
    try:
        with credentials.as_service():
            response = await call(stub.GetHealth, health_pb2.GetHealthRequest(), CHECK_SECONDS)
    except UnauthenticatedError:
        return ServiceHealth("refuses the gateway's tokens. " + _SECRETS_DIFFER)
    except HeddleError as error:
        return ServiceHealth(f"does not answer ({error.reason}). {_UNREACHED}")
    return ServiceHealth("", tuple(response.components), response.version)


async def replica_health(
    to: grpc.aio.Channel, credentials: ServiceCredentials
) -> dict[str, ServiceHealth]:
    """Return the health of each replica of a service, by their addresses."""
    channels = to_each_replica(to)
    stubs = [health_pb2_grpc.HealthServiceStub(each) for each in channels.values()]
    reports = await asyncio.gather(*(component_health(stub, credentials) for stub in stubs))
    return dict(zip(channels, reports, strict=True))
