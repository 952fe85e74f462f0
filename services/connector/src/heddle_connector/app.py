"""Settings and assembly of the connector service."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

from heddle.connector.v1 import connector_pb2_grpc as pb_grpc
from heddle.person.v1 import person_pb2_grpc
from heddle_runtime.errors.conditions import Check
from heddle_runtime.http.egress import Egress, EgressSettings
from heddle_runtime.identity.assistant_owners import AssistantOwners
from heddle_runtime.identity.people import PersonServicer
from heddle_runtime.identity.service_credentials import ServiceCredentials
from heddle_runtime.rpc.client import service_channel
from heddle_runtime.rpc.organization_settings import (
    ACCOUNTS,
    Channel,
    OrganizationSettings,
    account_stub,
)
from heddle_runtime.serving.background import HOUR, repeating
from heddle_runtime.serving.readiness import folder_check, plugins_check
from heddle_runtime.serving.server import Binding, bind
from heddle_runtime.settings import addresses
from heddle_runtime.storage.object_store import ObjectStoreSettings, object_store_check
from heddle_runtime.storage.private_files import make_private
from pydantic import Field
from pydantic_settings import SettingsConfigDict

from heddle_connector.generation.generated_images import MAX_IMAGES_BYTES, GeneratedImages
from heddle_connector.generation.model_text import ToolCallParser, ToolCallParsers
from heddle_connector.generation.people import ImageData, delete_old_images
from heddle_connector.generation.prompted_tools import PromptedTools, PromptFormatName
from heddle_connector.http import http_client
from heddle_connector.http.errors import DEFAULT_STALL_SECONDS
from heddle_connector.routing.model_catalogue import ModelCatalogue
from heddle_connector.routing.offers import Offers
from heddle_connector.routing.provider_check import ProviderCheck
from heddle_connector.routing.registry import installed, opened
from heddle_connector.routing.tenant_connectors import TenantConnectors
from heddle_connector.servicer import ConnectorServicer


class ConnectorSettings(ObjectStoreSettings, EgressSettings):
    """Settings of the connector service. Connectors have settings of their own as well."""

    # An empty folder name would mean the working directory, and plugins are code.
    model_config = SettingsConfigDict(env_prefix="HEDDLE_CONNECTOR_", env_ignore_empty=True)

    listen: addresses.Listen = addresses.CONNECTOR
    plugins_dir: Path | None = Field(
        default=None, description="A folder with connectors, one Python file each."
    )
    connect_seconds: float = Field(
        default=5.0,
        gt=0,
        description="Seconds to connect to a provider, including the DNS lookup.",
    )
    stall_seconds: float = Field(
        default=DEFAULT_STALL_SECONDS,
        gt=0,
        description="Seconds between two parts of a provider's answer after which the answer ends "
        "with an error. The first part may take until the deadline of the call.",
    )
    traced_providers: tuple[str, ...] = Field(
        default=(),
        description="Servers of models that belong to the operator, as host or host:port in a JSON "
        'array, such as ["vllm.internal:8000"]. Requests to them carry x-request-id and '
        "traceparent. Providers that organisations set up never get these.",
    )
    assistants_address: addresses.AssistantsAddress = addresses.ASSISTANTS
    share_providers: bool = Field(
        default=False,
        description="Whether organisations without a provider of their own use the operator's, at "
        "the operator's expense.",
    )
    images_dir: Path = Field(
        default=Path(".heddle/images"),
        description="Folder for generated images, with a folder for each organisation and in it "
        "one for each user. Several replicas must share it, or use HEDDLE_OBJECTS_URL instead.",
    )
    images_quota_bytes: int = Field(
        default=1024 * 1024 * 1024,
        ge=MAX_IMAGES_BYTES,
        description="Bytes of generated images per user. The oldest images are deleted first.",
    )
    tool_call_parsers: dict[str, list[ToolCallParser]] = Field(
        default={},
        description="Parsers for tool calls that models write into their text: a JSON object of "
        'patterns of connector/model, such as {"openai/qwen3-coder*": ["qwen3_coder"], '
        '"openai/gpt-*": []}. The first matching pattern applies; without a match, all parsers '
        "are used.",
    )
    prompted_tools: dict[str, PromptFormatName] = Field(
        default={},
        description="Models whose prompts declare the tools, because their server does not accept "
        "tools: a JSON object of patterns of connector/model and the format in which the model "
        'writes calls: {"openai/qwen2.5-*": "hermes"}, or "qwen3_coder", "xlam", "native". The '
        "first matching pattern applies; without a match, tools are declared natively.",
    )


@asynccontextmanager
async def app(
    settings: ConnectorSettings, accounts: Channel | None = None
) -> AsyncGenerator[Sequence[Binding]]:
    """Yield the servicers of the connector service.

    Args:
        settings: The settings.
        accounts: The in-process channel to the account service, if it runs in this process. By
            default the address in the settings is used.
    """
    images, images_check = _images(settings)
    plugins = installed(settings.plugins_dir)
    async with AsyncExitStack() as resources:
        enter = resources.enter_async_context
        http = await enter(
            http_client(
                settings.connect_seconds,
                stall_seconds=settings.stall_seconds,
                traced=settings.traced_providers,
                proxies=settings.proxies,
            )
        )
        registry = await enter(opened(plugins, http))
        if accounts is None:
            accounts = await enter(service_channel(settings, settings.assistants_address, ACCOUNTS))
        credentials = ServiceCredentials("heddle-connector")
        organizations = OrganizationSettings(account_stub(accounts), credentials)
        failure = "old images not deleted, will be retried"
        deleting = partial(delete_old_images, images, accounts, credentials)
        await enter(repeating(deleting, HOUR, failure))
        restricted_http = await enter(
            http_client(
                settings.connect_seconds,
                Egress(settings.private_networks),
                settings.stall_seconds,
                proxies=settings.proxies,
            )
        )
        tenants = TenantConnectors(
            registry, http, restricted_http, organizations, shared=settings.share_providers
        )
        resources.push_async_callback(tenants.close)
        offers = Offers(tenants)
        servicer = ConnectorServicer(
            ModelCatalogue(),
            tenants,
            offers,
            ToolCallParsers(settings.tool_call_parsers),
            PromptedTools(settings.prompted_tools),
            images,
            settings.stall_seconds,
            AssistantOwners(settings.identity_secret.get_secret_value(), "manage_assistants"),
        )
        checks: dict[str, Check] = {
            "images": images_check,
            "plugins": plugins_check(registry.plugins.problems),
            "providers": ProviderCheck(tenants, offers),
        }
        yield [
            bind(pb_grpc.add_ConnectorServiceServicer_to_server, servicer, checks),
            bind(
                person_pb2_grpc.add_PersonServiceServicer_to_server,
                PersonServicer(ImageData(images)),
            ),
        ]


def _images(settings: ConnectorSettings) -> tuple[GeneratedImages, Check]:
    """Return the store of generated images, and the check whether it works."""
    quota = settings.images_quota_bytes
    if objects := settings.object_store():
        return GeneratedImages(Path("images"), quota, objects), object_store_check(objects)
    make_private(settings.images_dir)
    return GeneratedImages(settings.images_dir, quota), folder_check(settings.images_dir)
