"""Composes the tool service from its settings."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial

import httpx
from heddle.connector.v1 import connector_pb2
from heddle.knowledge.v1 import files_pb2, files_pb2_grpc, knowledge_pb2, knowledge_pb2_grpc
from heddle.person.v1 import person_pb2_grpc
from heddle.tool.v1 import tool_pb2_grpc
from heddle_runtime.errors import NotSetUpError
from heddle_runtime.http.egress import Egress
from heddle_runtime.http.guarded_http import new_client
from heddle_runtime.identity.assistant_owners import AssistantOwners
from heddle_runtime.identity.people import PersonServicer
from heddle_runtime.identity.service_credentials import ServiceCredentials
from heddle_runtime.rpc.client import service_channel
from heddle_runtime.rpc.organization_settings import ACCOUNTS, OrganizationSettings, account_stub
from heddle_runtime.serving.readiness import folder_check
from heddle_runtime.serving.server import Binding, bind
from heddle_runtime.storage.private_files import make_private

from heddle_tools_service.capabilities.document_queries import DocumentQueries
from heddle_tools_service.capabilities.files import Files
from heddle_tools_service.capabilities.graph import Graph
from heddle_tools_service.capabilities.moodle import Moodle
from heddle_tools_service.capabilities.pages import Pages
from heddle_tools_service.capabilities.passages import Passages
from heddle_tools_service.capabilities.remote_servers import RemoteServers
from heddle_tools_service.capabilities.rubrics import Rubrics
from heddle_tools_service.capabilities.small_model import SmallModel
from heddle_tools_service.capabilities.weather import Weather
from heddle_tools_service.capabilities.web_search import WebSearch
from heddle_tools_service.capabilities.workspace import Workspace
from heddle_tools_service.definitions.capability_injection import Capabilities
from heddle_tools_service.installed.registry import ENTRY_POINTS, Registry, builtin, tools_check
from heddle_tools_service.mcp_inspection import McpInspection
from heddle_tools_service.providers.files import AssistantFiles, UploadedFiles
from heddle_tools_service.providers.knowledge.client import KnowledgeClient
from heddle_tools_service.providers.knowledge.documents import DocumentSearch
from heddle_tools_service.providers.knowledge.graphs import GraphSearch
from heddle_tools_service.providers.knowledge.pages import PageSearch
from heddle_tools_service.providers.knowledge.passages import CollectionSearch
from heddle_tools_service.providers.library import LibraryServer
from heddle_tools_service.providers.mcp.conversations import Conversations
from heddle_tools_service.providers.mcp.servers import AssistantServers
from heddle_tools_service.providers.moodle.accounts import Moodles, OwnAccount
from heddle_tools_service.providers.moodle.rest import MoodleSite
from heddle_tools_service.providers.open_meteo import OpenMeteo
from heddle_tools_service.providers.people import WorkspaceData
from heddle_tools_service.providers.rubrics import RUBRICS, AssistantRubrics, RubricClient
from heddle_tools_service.providers.semantic_similarity import SemanticSimilarity
from heddle_tools_service.providers.small_model import Channel, ConnectorModel
from heddle_tools_service.providers.web_search.searches import AssistantWeb, operators_sites
from heddle_tools_service.providers.workspaces import CallersWorkspace
from heddle_tools_service.running.tool_runner import ToolRunner
from heddle_tools_service.sdk import Assistant
from heddle_tools_service.servicer import ToolServicer
from heddle_tools_service.settings import NO_SERVICE, ToolsSettings
from heddle_tools_service.threads import Threads
from heddle_tools_service.workers.capability_calls import served
from heddle_tools_service.workers.confinement import missing
from heddle_tools_service.workers.loading import load_plugins

FILES = files_pb2.DESCRIPTOR.services_by_name["FileService"]
KNOWLEDGE = knowledge_pb2.DESCRIPTOR.services_by_name["KnowledgeService"]
CONNECTOR = connector_pb2.DESCRIPTOR.services_by_name["ConnectorService"]
__all__ = ["NO_SERVICE", "ToolsSettings", "app"]


@asynccontextmanager
async def app(
    settings: ToolsSettings,
    connector: Channel | None = None,
    accounts: Channel | None = None,
    knowledge: Channel | None = None,
) -> AsyncGenerator[Sequence[Binding]]:
    """Open the tool service's resources and yield the gRPC services to serve.

    Args:
        settings: The settings of the service.
        connector: A channel to the connector service if that runs in this process. Otherwise its
            address is among the settings.
        accounts: A channel to the assistants service, likewise.
        knowledge: A channel to the knowledge service, likewise.
    """
    make_private(settings.workspace_dir)
    new_http = partial(new_client, settings.http_timeout, proxies=settings.proxies)
    async with AsyncExitStack() as resources:
        http = await resources.enter_async_context(new_http())
        guarded_http = await resources.enter_async_context(
            new_http(Egress(settings.private_networks))
        )
        knowledge = knowledge or await resources.enter_async_context(
            service_channel(settings, settings.knowledge_address, KNOWLEDGE, FILES)
        )
        files_stub = files_pb2_grpc.FileServiceStub(knowledge)  # type: ignore[arg-type] # as below
        knowledge_stub = knowledge_pb2_grpc.KnowledgeServiceStub(knowledge)  # type: ignore[arg-type] # a local channel stands for a real one
        if connector is None and settings.small_model:
            connector = await resources.enter_async_context(
                service_channel(settings, settings.connector_address, CONNECTOR)
            )
        if accounts is None and settings.assistants_address != NO_SERVICE:
            accounts = await resources.enter_async_context(
                service_channel(settings, settings.assistants_address, ACCOUNTS, RUBRICS)
            )
        organizations = current_settings = rubrics = None
        secret = settings.identity_secret.get_secret_value()
        if accounts is not None:
            credentials = ServiceCredentials("heddle-tools")
            organizations = OrganizationSettings(account_stub(accounts), credentials)
            current_settings = OrganizationSettings(
                account_stub(accounts), credentials, cache_seconds=0
            )
            rubrics = RubricClient(accounts, credentials)
        number_of = organizations.number if organizations else None
        # Guarded even for the operator's assistants: the address comes from an assistant's author.
        conversations = Conversations(guarded_http)
        resources.push_async_callback(conversations.close)
        threads = Threads(settings.threads_per_tool)
        keys = {str(at): key.get_secret_value() for at, key in settings.web_search_keys.items()}
        sites = operators_sites(keys, settings.web_search_searxng_url)
        token = settings.moodle_token.get_secret_value()
        moodle = MoodleSite(settings.moodle_url, token) if settings.moodle_url and token else None
        moodles = Moodles(http, guarded_http, organizations, moodle)
        weather = OpenMeteo(http, settings.weather_url, settings.geocoding_url)
        name = settings.small_model
        model = ConnectorModel(connector, name) if connector is not None and name else None
        library_token = settings.library_token.get_secret_value()
        client = KnowledgeClient(knowledge_stub)
        library = LibraryServer(http, settings.library_url, library_token)

        def servers(assistant: Assistant) -> AssistantServers:
            return AssistantServers(conversations, settings.mcp_commands, organizations, assistant)

        def inspected_servers(assistant: Assistant) -> AssistantServers:
            # An administrator checks a server right after storing its address and token.
            return replace(servers(assistant), settings=current_settings)

        capabilities = Capabilities(
            {
                httpx.AsyncClient: lambda _: http,
                DocumentQueries: lambda _: DocumentSearch(client),
                Files: lambda call: AssistantFiles(
                    settings.files_dir,
                    number_of,
                    call.assistant,
                    UploadedFiles(files_stub, client),
                    library,
                ),
                Graph: lambda _: GraphSearch(client),
                Moodle: lambda call: OwnAccount(moodles, call.assistant, call.caller),
                Pages: lambda _: PageSearch(client),
                Passages: lambda _: CollectionSearch(client),
                RemoteServers: lambda call: servers(call.assistant),
                Rubrics: lambda call: AssistantRubrics(
                    rubrics, settings.rubrics_dir, call.assistant
                ),
                SmallModel: lambda call: SmallModel(model, call.seconds),
                Weather: lambda _: weather,
                WebSearch: lambda call: AssistantWeb(
                    *(http, guarded_http, organizations, sites, settings.web_search_shared),
                    call.assistant,
                ),
                Workspace: lambda call: CallersWorkspace(
                    settings.workspace_dir, threads, call.caller
                ),
            }
        )
        registry = await resources.enter_async_context(
            _registry(settings, capabilities, guarded_http, model)
        )
        runner = ToolRunner(registry, threads, settings.tool_timeout_seconds, organizations)
        similarity = SemanticSimilarity(knowledge_stub)
        people = PersonServicer(WorkspaceData(settings.workspace_dir))
        yield [
            bind(
                tool_pb2_grpc.add_ToolServiceServicer_to_server,
                ToolServicer(
                    runner,
                    similarity,
                    AssistantOwners(secret, "run_tools"),
                    McpInspection(inspected_servers),
                ),
                {
                    "plugins": tools_check(registry),
                    "workspaces": folder_check(settings.workspace_dir),
                },
            ),
            bind(person_pb2_grpc.add_PersonServiceServicer_to_server, people),
        ]


@asynccontextmanager
async def _registry(
    settings: ToolsSettings,
    capabilities: Capabilities,
    http: httpx.AsyncClient,
    model: ConnectorModel | None,
) -> AsyncGenerator[Registry]:
    if settings.sandbox == "off":
        yield Registry.discover(settings.plugins_dir, capabilities, settings.disabled)
        return
    if settings.sandbox == "required" and (lacks := missing()):
        message = (
            f"HEDDLE_TOOLS_SANDBOX is 'required', and the kernel lacks {' and '.join(lacks)}. "
            "Use another kernel, or set it to 'auto'."
        )
        raise NotSetUpError(message)
    # In a thread: its imports take half a second, in which the process may serve HTTP already.
    plugins = await asyncio.to_thread(builtin, capabilities, settings.disabled)
    providers = served(capabilities.providers, http, model)
    async with load_plugins(plugins, ENTRY_POINTS, settings, providers):
        yield Registry(plugins, settings.disabled)
