"""Puts the orchestrator service together."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from heddle.assistant.v1 import assistant_pb2, assistant_pb2_grpc
from heddle.connector.v1 import connector_pb2, connector_pb2_grpc
from heddle.orchestrator.v1 import orchestrator_pb2, orchestrator_pb2_grpc
from heddle.tool.v1 import tool_pb2, tool_pb2_grpc
from heddle.usage.v1 import usage_pb2, usage_pb2_grpc
from heddle_runtime import addresses
from heddle_runtime.client import channel
from heddle_runtime.grants import GrantSigner
from heddle_runtime.server import Binding, bind
from heddle_runtime.service_credentials import ServiceCredentials
from heddle_runtime.settings import ServiceSettings
from pydantic import Field
from pydantic_settings import SettingsConfigDict

from heddle_orchestrator.agent import Agents
from heddle_orchestrator.agent.deciders import Deciders
from heddle_orchestrator.assistants import KeptAssistants
from heddle_orchestrator.completion import Completions
from heddle_orchestrator.functions import Catalog, Functions, Limits
from heddle_orchestrator.metering.flushing import flushing
from heddle_orchestrator.metering.meter import Meter
from heddle_orchestrator.servicer import OrchestratorServicer

if TYPE_CHECKING:  # grpc's generated stubs have their asynchronous form only in the type files
    from heddle.assistant.v1.assistant_pb2_grpc import AssistantServiceAsyncStub
    from heddle.connector.v1.connector_pb2_grpc import ConnectorServiceAsyncStub
    from heddle.tool.v1.tool_pb2_grpc import ToolServiceAsyncStub
    from heddle.usage.v1.usage_pb2_grpc import UsageServiceAsyncStub


class OrchestratorSettings(ServiceSettings):
    """Settings of the orchestrator service."""

    model_config = SettingsConfigDict(env_prefix="HEDDLE_ORCHESTRATOR_")

    listen: str = Field(
        default=addresses.ORCHESTRATOR,
        description="Where the server listens: host:port, or unix:/path.",
    )
    tools_address: addresses.ToolsAddress = addresses.TOOLS
    connector_address: addresses.ConnectorAddress = addresses.CONNECTOR
    assistants_address: addresses.AssistantsAddress = addresses.ASSISTANTS
    tool_timeout: float = Field(
        default=20.0, gt=0, description="Seconds a tool gets if its binding says nothing."
    )
    assistant_cache_seconds: float = Field(
        default=2.0,
        ge=0,
        description="How long an assistant is kept after it was read. An edit shows after that "
        "time at the latest.",
    )
    usage_flush_seconds: float = Field(
        default=1.0,
        gt=0,
        description="How often what answers consumed is recorded. A process that is killed loses "
        "what it has not recorded.",
    )
    max_prompt_chars: int = Field(
        default=2_000_000, gt=0, description="The longest prompt that is sent to a model."
    )
    tool_rounds: int = Field(
        default=5,
        ge=1,
        le=50,
        description="How many rounds of calls a model may make before it must answer, if its "
        "assistant says nothing else.",
    )
    tool_seconds: float = Field(
        default=120.0, gt=0, description="Seconds that all functions called in a run may take."
    )
    agent_context_tokens: int = Field(
        default=24_000,
        gt=0,
        description="Tokens, about, of what the tools of an agent found in the prompt of its "
        "answer. The embedded model gets fewer.",
    )
    dspy_program: Path | None = Field(
        default=None,
        description="A file that DSPy saved: the compiled prompt of the strategy agent_dspy.",
    )
    run_tokens: int = Field(
        default=1_000_000,
        gt=0,
        description="Tokens, read and written, after which a model that calls functions must "
        "answer.",
    )


@dataclass(frozen=True, slots=True)
class Peers:
    """The services that the orchestrator calls."""

    tools: "ToolServiceAsyncStub"
    connectors: "ConnectorServiceAsyncStub"
    assistants: "AssistantServiceAsyncStub"
    usage: "UsageServiceAsyncStub"


@asynccontextmanager
async def connect(settings: OrchestratorSettings) -> AsyncGenerator[Peers]:
    """Yield the peers at the addresses of `settings`."""
    services = (
        tool_pb2.DESCRIPTOR.services_by_name["ToolService"],
        connector_pb2.DESCRIPTOR.services_by_name["ConnectorService"],
        assistant_pb2.DESCRIPTOR.services_by_name["AssistantService"],
        usage_pb2.DESCRIPTOR.services_by_name["UsageService"],
    )
    async with (
        channel(settings.tools_address, services[0]) as tools,
        channel(settings.connector_address, services[1]) as connectors,
        channel(settings.assistants_address, *services[2:]) as assistants,
    ):
        yield Peers(
            tool_pb2_grpc.ToolServiceStub(tools),
            connector_pb2_grpc.ConnectorServiceStub(connectors),
            assistant_pb2_grpc.AssistantServiceStub(assistants),
            usage_pb2_grpc.UsageServiceStub(assistants),
        )


@asynccontextmanager
async def app(settings: OrchestratorSettings, peers: Peers) -> AsyncGenerator[Sequence[Binding]]:
    """Yield what the orchestrator service serves."""
    secret = settings.identity_secret.get_secret_value() if settings.identity_secret else None
    acting, meter = ServiceCredentials("heddle-orchestrator", secret), Meter()
    completions = Completions(
        tools=peers.tools,
        connectors=peers.connectors,
        assistants=KeptAssistants(peers.assistants, settings.assistant_cache_seconds, meter),
        tool_timeout=settings.tool_timeout,
        functions=Functions(Catalog(peers.tools), _limits(settings)),
        agents=Agents(
            Deciders(settings.dspy_program), _limits(settings), settings.agent_context_tokens
        ),
        max_prompt_chars=settings.max_prompt_chars,
        meter=meter,
        grants=GrantSigner(secret),
    )
    contract = orchestrator_pb2.DESCRIPTOR.services_by_name["OrchestratorService"]
    register = orchestrator_pb2_grpc.add_OrchestratorServiceServicer_to_server
    async with flushing(peers.usage, meter, acting, settings.usage_flush_seconds):
        yield [bind(contract, register, OrchestratorServicer(completions))]


def _limits(settings: OrchestratorSettings) -> Limits:
    return Limits(
        rounds=settings.tool_rounds,
        seconds=settings.tool_seconds,
        tokens=settings.run_tokens,
        prompt_chars=settings.max_prompt_chars,
    )
