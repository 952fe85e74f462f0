"""Settings and wiring of the orchestrator service."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from heddle.assistant.v1 import assistant_pb2, assistant_pb2_grpc
from heddle.assistant.v1.assistant_pb2_grpc import AssistantServiceAsyncStub
from heddle.connector.v1 import connector_pb2, connector_pb2_grpc
from heddle.connector.v1.connector_pb2_grpc import ConnectorServiceAsyncStub
from heddle.orchestrator.v1 import orchestrator_pb2_grpc
from heddle.tool.v1 import tool_pb2, tool_pb2_grpc
from heddle.tool.v1.tool_pb2_grpc import ToolServiceAsyncStub
from heddle.usage.v1 import usage_pb2, usage_pb2_grpc
from heddle.usage.v1.usage_pb2_grpc import UsageServiceAsyncStub
from heddle_runtime.contract.limits import DEFAULT_TOOL_SECONDS, MAX_TOOL_ROUNDS, ToolTimeoutSeconds
from heddle_runtime.identity.grants import GrantSigner
from heddle_runtime.identity.service_credentials import ServiceCredentials
from heddle_runtime.rpc.client import service_channel
from heddle_runtime.serving.server import Binding, bind
from heddle_runtime.settings import addresses
from heddle_runtime.settings.service import ServiceSettings
from heddle_runtime.telemetry.metrics.gauges import reported_usage_lag
from pydantic import Field
from pydantic_settings import SettingsConfigDict

from heddle_orchestrator.agent import Agents
from heddle_orchestrator.agent.routers.registry import Routers
from heddle_orchestrator.assistants import CachedAssistants
from heddle_orchestrator.completion import Completions
from heddle_orchestrator.functions import Functions, Limits, ToolCatalog
from heddle_orchestrator.metering.flushing import Flusher, flushing
from heddle_orchestrator.metering.meter import Meter
from heddle_orchestrator.metering.prices import PriceClient
from heddle_orchestrator.metering.reserving import Reserver
from heddle_orchestrator.servicer import OrchestratorServicer
from heddle_orchestrator.tools.confirmations import Confirmations
from heddle_orchestrator.tools.default_slots import DefaultSlots
from heddle_orchestrator.validation import TemplateChecker, Validator


class OrchestratorSettings(ServiceSettings):
    """Settings of the orchestrator service."""

    model_config = SettingsConfigDict(env_prefix="HEDDLE_ORCHESTRATOR_")

    listen: addresses.Listen = addresses.ORCHESTRATOR
    tools_address: addresses.ToolsAddress = addresses.TOOLS
    connector_address: addresses.ConnectorAddress = addresses.CONNECTOR
    assistants_address: addresses.AssistantsAddress = addresses.ASSISTANTS
    tool_timeout_seconds: ToolTimeoutSeconds = DEFAULT_TOOL_SECONDS
    assistant_cache_seconds: float = Field(
        default=2.0,
        ge=0,
        description="Seconds for which an assistant is cached. An edit is visible after that "
        "time at the latest.",
    )
    usage_flush_seconds: float = Field(
        default=1.0,
        gt=0,
        description="Seconds between two recordings of usage. A process that is killed loses "
        "the usage that is not recorded.",
    )
    quota_completion_tokens: int = Field(
        default=2_000,
        gt=0,
        description="Tokens of an answer for which an assistant with a quota reserves costs, if "
        "the request sets no maximum.",
    )
    max_prompt_chars: int = Field(
        default=2_000_000, gt=0, description="The longest prompt that is sent to a model."
    )
    tool_rounds: int = Field(
        default=5,
        ge=1,
        le=MAX_TOOL_ROUNDS,
        description="Rounds of calls that a model may make before it must answer, if its "
        "assistant sets no limit.",
    )
    tool_seconds: float = Field(
        default=120.0, gt=0, description="Seconds for all functions called in a run."
    )
    agent_context_tokens: int = Field(
        default=24_000,
        gt=0,
        description="About how many tokens of an agent's results the prompt of its answer "
        "contains. The embedded model gets fewer.",
    )
    dspy_program: Path | None = Field(
        default=None,
        description="A file that DSPy saved: the compiled prompt of the strategy agent_dspy.",
    )
    run_tokens: int = Field(
        default=1_000_000,
        gt=0,
        description="Prompt and completion tokens after which a model that calls functions must "
        "answer.",
    )


@dataclass(frozen=True, slots=True)
class ServiceClients:
    """The services that the orchestrator calls."""

    tools: ToolServiceAsyncStub
    connectors: ConnectorServiceAsyncStub
    assistants: AssistantServiceAsyncStub
    usage: UsageServiceAsyncStub


@asynccontextmanager
async def connect(settings: OrchestratorSettings) -> AsyncGenerator[ServiceClients]:
    """Yield clients for the addresses in `settings`."""
    services = (
        tool_pb2.DESCRIPTOR.services_by_name["ToolService"],
        connector_pb2.DESCRIPTOR.services_by_name["ConnectorService"],
        assistant_pb2.DESCRIPTOR.services_by_name["AssistantService"],
        usage_pb2.DESCRIPTOR.services_by_name["UsageService"],
    )
    async with (
        service_channel(settings, settings.tools_address, services[0]) as tools,
        service_channel(settings, settings.connector_address, services[1]) as connectors,
        service_channel(settings, settings.assistants_address, *services[2:]) as assistants,
    ):
        yield ServiceClients(
            tool_pb2_grpc.ToolServiceStub(tools),
            connector_pb2_grpc.ConnectorServiceStub(connectors),
            assistant_pb2_grpc.AssistantServiceStub(assistants),
            usage_pb2_grpc.UsageServiceStub(assistants),
        )


@asynccontextmanager
async def app(
    settings: OrchestratorSettings, clients: ServiceClients
) -> AsyncGenerator[Sequence[Binding]]:
    """Yield the bindings of the orchestrator service."""
    secret = settings.identity_secret.get_secret_value()
    credentials, meter = ServiceCredentials("heddle-orchestrator"), Meter()
    flusher = Flusher(clients.usage, meter, credentials)
    default_slots = DefaultSlots(clients.tools, credentials)
    completions = Completions(
        tools=clients.tools,
        connectors=clients.connectors,
        assistants=CachedAssistants(
            clients.assistants, credentials, settings.assistant_cache_seconds, meter
        ),
        tool_timeout=settings.tool_timeout_seconds,
        functions=Functions(ToolCatalog(clients.tools), _limits(settings)),
        agents=Agents(
            Routers(settings.dspy_program), _limits(settings), settings.agent_context_tokens
        ),
        max_prompt_chars=settings.max_prompt_chars,
        meter=meter,
        reserver=Reserver(clients.usage, credentials, flusher, settings.quota_completion_tokens),
        grants=GrantSigner(secret),
        confirmations=Confirmations(clients.assistants, credentials, secret),
        prices=PriceClient(clients.usage, credentials),
        default_slots=default_slots,
    )
    register = orchestrator_pb2_grpc.add_OrchestratorServiceServicer_to_server
    async with flushing(flusher, settings.usage_flush_seconds):
        validator = Validator(clients.tools, clients.connectors)
        templates = TemplateChecker(default_slots)
        with reported_usage_lag(lambda: meter.lag):
            yield [bind(register, OrchestratorServicer(completions, validator, templates))]


def _limits(settings: OrchestratorSettings) -> Limits:
    return Limits(
        rounds=settings.tool_rounds,
        seconds=settings.tool_seconds,
        tokens=settings.run_tokens,
        prompt_chars=settings.max_prompt_chars,
    )
