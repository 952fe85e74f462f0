"""A tool service on a free port, with tools and neighbours of the test's choice."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
import httpx
from google.protobuf.struct_pb2 import Struct
from heddle.assistant.v1 import assistant_pb2
from heddle.chat.v1 import chat_pb2
from heddle.tool.v1 import tool_pb2 as pb
from heddle.tool.v1 import tool_pb2_grpc as pb_grpc
from heddle_knowledge.embedders.embedding import MULTILINGUAL_E5, Embedder
from heddle_knowledge.embedders.local_embedders import LocalEmbedder
from heddle_runtime.errors import HeddleError, from_rpc, from_status
from heddle_runtime.identity.assistant_owners import AssistantOwners
from heddle_runtime.identity.call_metadata import new_call_options
from heddle_runtime.identity.grants import Grant, GrantSigner
from heddle_runtime.rpc.client import channel
from heddle_runtime.serving.server import Binding, bind, running
from heddle_runtime.settings.local_secret import OF_THIS_PROCESS
from heddle_runtime.settings.service import ServiceSettings
from heddle_tools_service.capabilities.document_queries import DocumentQueries
from heddle_tools_service.capabilities.files import Files
from heddle_tools_service.capabilities.graph import Graph
from heddle_tools_service.capabilities.moodle import Moodle
from heddle_tools_service.capabilities.pages import Pages
from heddle_tools_service.capabilities.passages import Passages
from heddle_tools_service.capabilities.remote_servers import RemoteServers
from heddle_tools_service.capabilities.rubrics import Rubrics
from heddle_tools_service.capabilities.small_model import Generate, SmallModel
from heddle_tools_service.capabilities.weather import Weather
from heddle_tools_service.capabilities.web_search import WebSearch
from heddle_tools_service.capabilities.workspace import Workspace
from heddle_tools_service.definitions.capability_injection import Capabilities
from heddle_tools_service.installed.registry import Registry
from heddle_tools_service.mcp_inspection import McpInspection
from heddle_tools_service.providers.files import AssistantFiles
from heddle_tools_service.providers.knowledge.client import KnowledgeClient
from heddle_tools_service.providers.knowledge.documents import DocumentSearch
from heddle_tools_service.providers.knowledge.graphs import GraphSearch
from heddle_tools_service.providers.knowledge.pages import PageSearch
from heddle_tools_service.providers.knowledge.passages import CollectionSearch
from heddle_tools_service.providers.mcp.conversations import Conversations
from heddle_tools_service.providers.mcp.servers import AssistantServers
from heddle_tools_service.providers.moodle.accounts import Moodles, OwnAccount
from heddle_tools_service.providers.open_meteo import OpenMeteo
from heddle_tools_service.providers.rubrics import AssistantRubrics
from heddle_tools_service.providers.semantic_similarity import SemanticSimilarity
from heddle_tools_service.providers.web_search.searches import AssistantWeb
from heddle_tools_service.providers.workspaces import CallersWorkspace
from heddle_tools_service.running.tool_runner import ToolRunner
from heddle_tools_service.sdk import Assistant, Tool
from heddle_tools_service.servicer import ToolServicer
from heddle_tools_service.testing.running import requestable
from heddle_tools_service.threads import Threads
from integration.browser import browser
from knowledge.serving import knowledge_stub

if TYPE_CHECKING:  # a class of the stubs alone
    from heddle.knowledge.v1.knowledge_pb2_grpc import KnowledgeServiceAsyncStub

CONTRACT = pb.DESCRIPTOR.services_by_name["ToolService"]
NOWHERE = "http://127.0.0.1:9"
SETTINGS = ServiceSettings(listen="127.0.0.1:0", drain_wait=0)
GRANT_SECONDS = 86_400
"""Longer than all tests together: some modules build their contexts when they are imported."""


@dataclass(frozen=True)
class Client:
    """Calls a tool service."""

    stub: "pb_grpc.ToolServiceAsyncStub"

    async def run(
        self,
        name: str,
        config: Mapping[str, Any] | None = None,
        context: pb.RunContext | None = None,
        *,
        seconds: float = 10,
    ) -> tuple[list[str], pb.ToolResult]:
        """Return the statuses and the result of one tool, or raise its error."""
        request = pb.ExecuteToolRequest(invocation=invocation("1", name, config), context=context)
        try:
            events = [
                event async for event in self.stub.ExecuteTool(request, **new_call_options(seconds))
            ]
        except grpc.aio.AioRpcError as error:
            raise from_rpc(error) from error
        *statuses, last = events
        assert last.HasField("result")
        return [event.status.message for event in statuses], last.result

    async def run_all(
        self,
        invocations: Sequence[pb.ToolInvocation],
        context: pb.RunContext | None = None,
        *,
        seconds: float = 10,
    ) -> list[list[pb.ToolEvent]]:
        """Return the responses of a batch, as lists of events."""
        request = pb.ExecuteToolsRequest(invocations=invocations, context=context)
        try:
            return [
                list(response.events)
                async for response in self.stub.ExecuteTools(request, **new_call_options(seconds))
            ]
        except grpc.aio.AioRpcError as error:
            raise from_rpc(error) from error


Registering = Callable[[Capabilities], Registry]


def discovering(folder: Path | None) -> Registering:
    """Return what finds all tools, those of `folder` included."""
    return partial(Registry.discover, folder)


def discovered(folder: Path | None) -> Registry:
    """Return a registry of all tools, those of `folder` included, which cannot run."""
    return Registry.discover(folder, requestable())


def always(embedders: Sequence[Embedder]) -> Callable[[], Awaitable[Sequence[Embedder]]]:
    """Return what gets the embedders of a service."""

    async def get() -> Sequence[Embedder]:
        return embedders

    return get


@asynccontextmanager
async def serving(
    register: Registering,
    *,
    folder: Path = Path("/nonexistent"),
    knowledge: "KnowledgeServiceAsyncStub | None" = None,
    small_model: Generate | None = None,
    default_timeout: float = 5,
    threads: int = 8,
) -> AsyncGenerator[Client]:
    """Serve a registry; `folder` holds `files` and `rubrics`."""

    @asynccontextmanager
    async def app() -> AsyncGenerator[list[Binding]]:
        async with (
            browser() as http,
            LocalEmbedder() as english,
            LocalEmbedder(MULTILINGUAL_E5) as multilingual,
            knowledge_stub(embedders=always([english, multilingual])) as without_store,
        ):
            stub = knowledge or without_store

            client = KnowledgeClient(stub)
            moodles = Moodles(http, http, None, None)
            weather = OpenMeteo(http, NOWHERE, NOWHERE)
            workspace_threads = Threads(threads)
            conversations = Conversations(http)

            def servers(assistant: Assistant) -> AssistantServers:
                return AssistantServers(conversations, {}, None, assistant)

            capabilities = Capabilities(
                {
                    httpx.AsyncClient: lambda _: http,
                    DocumentQueries: lambda _: DocumentSearch(client),
                    Files: lambda call: AssistantFiles(folder / "files", None, call.assistant),
                    Graph: lambda _: GraphSearch(client),
                    Moodle: lambda call: OwnAccount(moodles, call.assistant, call.caller),
                    Pages: lambda _: PageSearch(client),
                    Passages: lambda _: CollectionSearch(client),
                    RemoteServers: lambda call: servers(call.assistant),
                    Rubrics: lambda call: AssistantRubrics(
                        None, folder / "rubrics", call.assistant
                    ),
                    SmallModel: lambda call: SmallModel(small_model, call.seconds),
                    Weather: lambda _: weather,
                    WebSearch: lambda call: AssistantWeb(
                        *(http, http, None, {}, False), call.assistant
                    ),
                    Workspace: lambda call: CallersWorkspace(
                        folder / "workspaces", workspace_threads, call.caller
                    ),
                }
            )
            runner = ToolRunner(register(capabilities), Threads(threads), default_timeout)
            add = pb_grpc.add_ToolServiceServicer_to_server
            similarity, owners = (
                SemanticSimilarity(stub),
                AssistantOwners(OF_THIS_PROCESS.get_secret_value(), "run_tools"),
            )
            yield [bind(add, ToolServicer(runner, similarity, owners, McpInspection(servers)))]

    async with (
        running(app(), SETTINGS) as service,
        channel(service.address, CONTRACT) as connection,
    ):
        await connection.channel_ready()  # a call does not wait, and connecting can take a while
        yield Client(pb_grpc.ToolServiceStub(connection))


@asynccontextmanager
async def serving_tools(*tools: Tool, **options: Any) -> AsyncGenerator[Client]:
    """Serve just these tools."""
    async with serving(partial(_of, tools), **options) as client:
        yield client


def _of(tools: Sequence[Tool], capabilities: Capabilities) -> Registry:
    return Registry.of(*tools, capabilities=capabilities)


def invocation(
    identifier: str, name: str, config: Mapping[str, Any] | None = None, slot: str = ""
) -> pb.ToolInvocation:
    made = Struct()
    made.update(config or {})
    return pb.ToolInvocation(id=identifier, name=name, config=made, slot=slot)


def said(
    *words: str,
    owner: str = "",
    organization: str = "",
    identifier: str = "",
    secret: str | None = None,
) -> pb.RunContext:
    """Return a context whose last message is the user's; the turns before alternate.

    Like the orchestrator's, it has a grant for the assistant's owner.
    """
    roles = [chat_pb2.ROLE_USER, chat_pb2.ROLE_ASSISTANT]
    messages = [
        chat_pb2.Message(role=roles[index % 2], parts=[chat_pb2.ContentPart(text=word)])
        for index, word in reversed(list(enumerate(reversed(words))))
    ]
    assistant = assistant_pb2.Assistant(
        id=identifier,
        owner=owner,
        organization=organization,
        model=assistant_pb2.ModelRef(connector="bypass", model="simple-bypass"),
    )
    signer = GrantSigner(secret or OF_THIS_PROCESS.get_secret_value())
    grant = signer.sign(Grant(owner, organization), GRANT_SECONDS)
    return pb.RunContext(messages=messages, assistant=assistant, grant=grant)


def granted(context: pb.RunContext | None, secret: str) -> pb.RunContext:
    """Return a context with a grant for the current caller, as the orchestrator issues it."""
    own = pb.RunContext()
    if context is not None:
        own.CopyFrom(context)
    owner = Grant(own.assistant.owner, own.assistant.organization)
    own.grant = GrantSigner(secret).sign(owner, GRANT_SECONDS)
    return own


def outcome(
    events: Sequence[Sequence[pb.ToolEvent]], identifier: str
) -> "pb.ToolResult | HeddleError":
    """Return how an invocation of a batch ended."""
    [last] = [
        e for batch in events for e in batch if e.id == identifier and not e.HasField("status")
    ]
    return last.result if last.HasField("result") else from_status(last.error)


def text_of(result: pb.ToolResult) -> str:
    return "".join(part.text for part in result.parts)
