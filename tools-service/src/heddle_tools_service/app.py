"""Puts the tool service together."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy
from pathlib import Path

import httpx
from heddle.connector.v1 import connector_pb2
from heddle.knowledge.v1 import files_pb2, files_pb2_grpc, knowledge_pb2, knowledge_pb2_grpc
from heddle.tool.v1 import tool_pb2, tool_pb2_grpc
from heddle_knowledge.document_queries.query_workers import Asking
from heddle_knowledge.service.servicer import KnowledgeServicer
from heddle_knowledge.uploads.ingestion_queue import Bringing
from heddle_knowledge.uploads.servicer import FileServicer
from heddle_runtime import addresses
from heddle_runtime.client import channel
from heddle_runtime.egress import Egress
from heddle_runtime.organization_settings import ACCOUNTS, OrganizationSettings
from heddle_runtime.server import Binding, bind
from heddle_runtime.service_credentials import ServiceCredentials
from pydantic import AliasChoices, Field, SecretStr, field_validator
from pydantic_settings import SettingsConfigDict

from heddle_tools_service.affinity import Affinities
from heddle_tools_service.belongings import Belongings, known_to, known_to_nobody
from heddle_tools_service.generation import Channel
from heddle_tools_service.provider_settings import ProviderSettings
from heddle_tools_service.providers.choices import (
    get_embeddings,
    get_llm,
    get_reranker,
    get_vectordb,
    get_visual_search,
    get_vlm,
    small_model_name,
)
from heddle_tools_service.providers.files import FileFolder
from heddle_tools_service.providers.guarded_http import GuardedTransport
from heddle_tools_service.providers.kb_server import KnowledgeServer
from heddle_tools_service.providers.kept_rubrics import RUBRICS
from heddle_tools_service.providers.knowledge_bases import KnowledgeBases
from heddle_tools_service.providers.mcp.conversations import Conversations
from heddle_tools_service.providers.mcp.servers import McpServers
from heddle_tools_service.providers.moodle.accounts import Moodles
from heddle_tools_service.providers.moodle.rest import MoodleSite
from heddle_tools_service.providers.open_meteo import OpenMeteo
from heddle_tools_service.providers.owner_servers import server_address
from heddle_tools_service.providers.rubrics import RubricFolder
from heddle_tools_service.providers.stores import EmbeddedStore, Models
from heddle_tools_service.providers.visual.pages import PageSearch
from heddle_tools_service.providers.web_search.searches import WebSearches, operators_sites
from heddle_tools_service.providers.workspaces import Workspaces
from heddle_tools_service.registry import Registry
from heddle_tools_service.servicer import ToolServicer
from heddle_tools_service.threads import Threads
from heddle_tools_service.workshop import Workshop

NOWHERE = "none"  # not empty: an empty variable is one that nobody set

_LIMITS = httpx.Limits(max_connections=200, max_keepalive_connections=50)


class ToolsSettings(ProviderSettings):
    """Settings of the tool service."""

    model_config = SettingsConfigDict(env_prefix="HEDDLE_TOOLS_", populate_by_name=True)

    listen: str = Field(
        default="127.0.0.1:9102", description="Where the server listens: host:port, or unix:/path."
    )
    plugins_dir: Path | None = Field(
        default=None,
        validation_alias="HEDDLE_TOOLS_PLUGINS_DIR",
        description="Folder with tools of your own, one Python file each. They run with all rights "
        "of the service.",
    )
    tool_timeout: float = Field(
        default=20.0, gt=0, description="Seconds that a tool may take if its binding does not say."
    )
    http_timeout: float = Field(
        default=10.0, gt=0, description="Seconds that a tool waits for another server."
    )
    threads_per_tool: int = Field(
        default=8, ge=1, description="Calls at once of a tool that is not async."
    )
    files_dir: Path = Field(
        default=Path(".heddle/files"), description="Folder that the tool single_file reads from."
    )
    workspace_dir: Path = Field(
        default=Path(".heddle/workspaces"),
        description="Folder of the files that models may read and change, on a local disk: a "
        "folder for each organisation, and in it one for each of its people.",
    )
    rubrics_dir: Path = Field(
        default=Path(".heddle/rubrics"),
        description="Folder of assessment rubrics, one YAML or JSON file each, for ids that the "
        "database does not have.",
    )
    kb_url: str = Field(
        default="",
        description="Address of a LAMB knowledge-base server, for collections that the knowledge "
        "store does not hold. Organisations have their own in their settings; this one is the "
        "operator's.",
    )
    kb_token: SecretStr = Field(
        default=SecretStr(""), description="The token of that server. Sent to no other."
    )
    kb_shared: bool = Field(
        default=False,
        description="Let organisations that have set up no server use the operator's, with the "
        "operator's token: they can then name any collection of it that LAMB's registry does not "
        "give to others.",
    )
    moodle_url: str = Field(
        default="",
        validation_alias=AliasChoices("HEDDLE_TOOLS_MOODLE_URL", "MOODLE_API_URL"),
        description="Address of the operator's Moodle, for the operator's own assistants; LAMB's "
        "name, MOODLE_API_URL, is read as well. Organisations have their own in their settings.",
    )
    moodle_token: SecretStr = Field(
        default=SecretStr(""),
        validation_alias=AliasChoices("HEDDLE_TOOLS_MOODLE_TOKEN", "MOODLE_TOKEN"),
        description="The token of that Moodle's web service. Sent to no other.",
    )
    weather_url: str = Field(
        default="https://api.open-meteo.com",
        description="Address of Open-Meteo's forecasts, or of a server of your own.",
    )
    geocoding_url: str = Field(
        default="https://geocoding-api.open-meteo.com",
        description="Address of Open-Meteo's geocoder, or of a server of your own.",
    )
    mcp_commands: dict[str, tuple[str, ...]] = Field(
        default={},
        description="Commands that assistants may run as MCP servers, as a JSON object: by name "
        "the program and its arguments. They run as this service does, with HOME, PATH and the "
        "like of its environment. Without, only servers with an address are used.",
    )
    assistants_address: addresses.AssistantsAddress = Field(
        default=addresses.ASSISTANTS,
        description="Address of the assistants service: host:port. "
        f"{NOWHERE!r} if there is none: everything then belongs to the operator.",
    )
    connector_address: addresses.ConnectorAddress = addresses.CONNECTOR

    @field_validator("mcp_commands")
    @classmethod
    def _check_commands(cls, commands: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        for name, command in commands.items():
            if not command or not command[0]:
                message = f"{name!r} names no program"
                raise ValueError(message)
        return commands

    @field_validator("kb_url", "moodle_url", "weather_url", "geocoding_url")
    @classmethod
    def _check_url(cls, url: str) -> str:
        return server_address(url) if url else ""


@asynccontextmanager
async def app(
    settings: ToolsSettings, connector: Channel | None = None, accounts: Channel | None = None
) -> AsyncGenerator[Sequence[Binding]]:
    """Yield what the tool service serves.

    Args:
        settings: How to serve it.
        connector: A way to the connector service, if it runs in this process. Else its address
            is among the settings.
        accounts: A way to the migration service, likewise.
    """
    async with AsyncExitStack() as resources:
        http = await resources.enter_async_context(_http(settings))
        guarded_http = await resources.enter_async_context(
            _http(settings, GuardedTransport(Egress(settings.private_networks), _LIMITS))
        )
        store = await resources.enter_async_context(
            EmbeddedStore(
                get_vectordb(settings),
                Models(
                    lambda: get_embeddings(settings, http),
                    lambda reader: get_visual_search(settings, http, reader),
                    lambda: get_reranker(settings, http),
                ),
                settings.data_dir,
            )
        )
        bringing = await resources.enter_async_context(
            Bringing(settings.data_dir / "uploads", store.get)
        )
        if connector is None and small_model_name(settings):
            contract = connector_pb2.DESCRIPTOR.services_by_name["ConnectorService"]
            connector = await resources.enter_async_context(
                channel(settings.connector_address, contract)
            )
        if accounts is None and settings.assistants_address != NOWHERE:
            accounts = await resources.enter_async_context(
                channel(settings.assistants_address, ACCOUNTS, RUBRICS)
            )
        found = _belongings(settings, accounts)
        threads = Threads(settings.threads_per_tool)
        # Guarded for the operator's assistants, too: whoever may write one names the address.
        conversations = Conversations(guarded_http)
        resources.push_async_callback(conversations.close)
        asking = Asking()
        resources.push_async_callback(asking.aclose)
        affinities = Affinities()
        resources.push_async_callback(affinities.aclose)
        workshop = Workshop(
            registry=Registry.discover(settings.plugins_dir),
            http=http,
            knowledge=KnowledgeBases(
                store.get,
                found.server_of,
                http,
                guarded_http,
                settings.http_timeout,
                found.withheld_at,
            ),
            asking=asking,
            pages=PageSearch(store.get, get_vlm(settings, http), settings.http_timeout),
            web=_web(settings, http, guarded_http, found.settings),
            files=FileFolder(settings.files_dir, found.number_of),
            rubrics=found.rubrics,
            moodles=Moodles(http, guarded_http, found.site_of),
            weather=OpenMeteo(http, settings.weather_url, settings.geocoding_url),
            small_model=get_llm(settings, connector),
            workspaces=Workspaces(settings.workspace_dir, threads),
            servers=McpServers(conversations, settings.mcp_commands, found.settings),
            affinities=affinities,
            threads=threads,
            patience=settings.tool_timeout,
        )
        tools = tool_pb2.DESCRIPTOR.services_by_name["ToolService"]
        knowledge = knowledge_pb2.DESCRIPTOR.services_by_name["KnowledgeService"]
        files = files_pb2.DESCRIPTOR.services_by_name["FileService"]
        yield [
            bind(tools, tool_pb2_grpc.add_ToolServiceServicer_to_server, ToolServicer(workshop)),
            bind(
                knowledge,
                knowledge_pb2_grpc.add_KnowledgeServiceServicer_to_server,
                KnowledgeServicer(store.get, bringing.forget_all),
            ),
            bind(
                files,
                files_pb2_grpc.add_FileServiceServicer_to_server,
                FileServicer(store.get, bringing),
            ),
        ]


def _http(
    settings: ToolsSettings, transport: httpx.AsyncBaseTransport | None = None
) -> httpx.AsyncClient:
    """Return a client for all tools. One user's cookies must not become another's."""
    return httpx.AsyncClient(
        timeout=settings.http_timeout,
        trust_env=False,
        follow_redirects=False,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        limits=_LIMITS,
        transport=transport,
    )


def _web(
    settings: ToolsSettings,
    http: httpx.AsyncClient,
    guarded_http: httpx.AsyncClient,
    owners: OrganizationSettings | None,
) -> WebSearches:
    keys = {str(name): key.get_secret_value() for name, key in settings.web_search_keys.items()}
    sites = operators_sites(keys, settings.web_search_searxng_url)
    return WebSearches(http, guarded_http, owners, sites, settings.web_search_shared)


def _belongings(settings: ToolsSettings, accounts: Channel | None) -> Belongings:
    operators = (
        KnowledgeServer(settings.kb_url, settings.kb_token.get_secret_value())
        if settings.kb_url
        else None
    )
    token = settings.moodle_token.get_secret_value()
    moodle = MoodleSite(settings.moodle_url, token) if settings.moodle_url and token else None
    rubrics = RubricFolder(settings.rubrics_dir)
    if accounts is None:
        return known_to_nobody(operators, rubrics, moodle)
    secret = settings.identity_secret.get_secret_value() if settings.identity_secret else None
    return known_to(
        accounts,
        ServiceCredentials("heddle-tools", secret),
        operators=operators,
        shared=settings.kb_shared,
        rubrics=rubrics,
        moodle=moodle,
    )
