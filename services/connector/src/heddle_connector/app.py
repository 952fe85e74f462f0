"""Puts the connector service together."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from heddle.connector.v1 import connector_pb2 as pb
from heddle.connector.v1 import connector_pb2_grpc as pb_grpc
from heddle_runtime import addresses
from heddle_runtime.client import channel
from heddle_runtime.egress import Egress, EgressSettings
from heddle_runtime.organization_settings import (
    ACCOUNTS,
    Channel,
    OrganizationSettings,
    account_stub,
)
from heddle_runtime.server import Binding, bind
from heddle_runtime.service_credentials import ServiceCredentials
from pydantic import Field, field_validator
from pydantic_settings import SettingsConfigDict

from heddle_connector.generation.generated_images import LARGEST, Pictures
from heddle_connector.generation.prompted_tools import PromptedFunctions
from heddle_connector.generation.text_tool_calls import CallFormats
from heddle_connector.http import http_client
from heddle_connector.routing.model_catalog import Catalog
from heddle_connector.routing.registry import installed, opened
from heddle_connector.routing.tenant_connectors import Owners
from heddle_connector.servicer import ConnectorServicer


class ConnectorSettings(EgressSettings):
    """Settings of the connector service. Each connector has some of its own besides."""

    # An empty folder name would be the working directory, and a plugin is code.
    model_config = SettingsConfigDict(env_prefix="HEDDLE_CONNECTOR_", env_ignore_empty=True)

    listen: str = Field(
        default=addresses.CONNECTOR,
        description="Where the server listens: host:port, or unix:/path.",
    )
    plugins_dir: Path | None = Field(
        default=None, description="A folder with connectors, one Python file each."
    )
    connect_timeout: float = Field(
        default=5.0, gt=0, description="Seconds to reach a provider, its name's lookup included."
    )
    assistants_address: addresses.AssistantsAddress = addresses.ASSISTANTS
    share_providers: bool = Field(
        default=False,
        description="Let organisations that have set up no provider use those of this "
        "environment, at the operator's expense.",
    )
    pictures_dir: Path = Field(
        default=Path(".heddle/pictures"),
        description="Folder of the pictures that models make: a folder for each organisation, and "
        "in it one for each of its people. Several replicas must share it.",
    )
    pictures_per_person: int = Field(
        default=1024 * 1024 * 1024,
        ge=LARGEST,
        description="Bytes of pictures that are kept for a person; the oldest make room.",
    )
    call_formats: dict[str, list[str]] = Field(
        default={},
        description="In which formats models write calls of functions into their text, if they "
        'do: a JSON object of patterns of connector/model, such as {"openai/qwen3-coder*": '
        '["qwen3_coder"], "openai/gpt-*": []}. The first that fits counts; without one, every '
        "format is read.",
    )

    prompted_functions: dict[str, str] = Field(
        default={},
        description="Which models are told of functions in their prompt, for those whose server "
        "takes none: a JSON object of patterns of connector/model and the format in which the "
        'model writes calls: {"openai/qwen2.5-*": "hermes"}, or "qwen3_coder", "xlam", "native". '
        "The first that fits counts; without one, functions are sent natively.",
    )

    @field_validator("prompted_functions")
    @classmethod
    def _check_prompted(cls, value: dict[str, str]) -> dict[str, str]:
        PromptedFunctions(value)
        return value

    @field_validator("call_formats")
    @classmethod
    def _check_formats(cls, value: dict[str, list[str]]) -> dict[str, list[str]]:
        CallFormats(value)
        return value


@asynccontextmanager
async def app(
    settings: ConnectorSettings, accounts: Channel | None = None
) -> AsyncGenerator[Sequence[Binding]]:
    """Yield what the connector service serves.

    Args:
        settings: How to serve it.
        accounts: A way to the account service, if it runs in this process. Else its address is
            among the settings.
    """
    plugins = installed(settings.plugins_dir)
    secret = settings.identity_secret.get_secret_value() if settings.identity_secret else None
    async with AsyncExitStack() as resources:
        enter = resources.enter_async_context
        http = await enter(http_client(settings.connect_timeout))
        registry = await enter(opened(plugins, http))
        if accounts is None:
            accounts = await enter(channel(settings.assistants_address, ACCOUNTS))
        known = OrganizationSettings(
            account_stub(accounts), ServiceCredentials("heddle-connector", secret)
        )
        guarded = await enter(
            http_client(settings.connect_timeout, Egress(settings.private_networks))
        )
        owners = Owners(registry, http, guarded, known, shared=settings.share_providers)
        resources.push_async_callback(owners.close)
        pictures = Pictures(settings.pictures_dir, settings.pictures_per_person)
        servicer = ConnectorServicer(
            registry,
            Catalog(),
            owners,
            CallFormats(settings.call_formats),
            PromptedFunctions(settings.prompted_functions),
            pictures,
        )
        contract = pb.DESCRIPTOR.services_by_name["ConnectorService"]
        yield [bind(contract, pb_grpc.add_ConnectorServiceServicer_to_server, servicer)]
