"""The services behind the gateway, small and scripted, over real gRPC or within the process."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp
from google.rpc.error_details_pb2 import BadRequest
from heddle.assistant.v1 import assistant_pb2, assistant_pb2_grpc
from heddle.chat.v1.chat_pb2 import (
    FINISH_REASON_STOP,
    Done,
    FunctionDeclaration,
    GeneratedImage,
    Usage,
)
from heddle.connector.v1 import connector_pb2, connector_pb2_grpc
from heddle.migration.v1 import record_pb2_grpc
from heddle.orchestrator.v1 import orchestrator_pb2, orchestrator_pb2_grpc
from heddle.orchestrator.v1.orchestrator_pb2 import (
    RunCompletionRequest,
    RunCompletionResponse,
    RunEvent,
    RunWholeCompletionResponse,
    Status,
)
from heddle.tool.v1 import tool_pb2, tool_pb2_grpc
from heddle_gateway.openai.chat.completions import TOOLS_RAN
from heddle_gateway.services import SERVICES, ServiceClients
from heddle_runtime.contract.paging import read_token, write_token
from heddle_runtime.errors import HeddleError, NotFoundError, to_status
from heddle_runtime.identity.call_metadata import Caller, caller
from heddle_runtime.rpc.client import channel
from heddle_runtime.serving.plugins import Problem
from heddle_runtime.serving.readiness import plugins_check
from heddle_runtime.serving.server import Binding, bind, running
from heddle_runtime.settings.service import ServiceSettings

_PROGRESS = ("status", "tool_started")
Step = Sequence[RunEvent] | float | Exception
DONE = RunEvent(
    done=Done(
        finish_reason=FINISH_REASON_STOP,
        usage=Usage(prompt_tokens=7, completion_tokens=3),
        model="fake-1",
    )
)
HELLO: tuple[Step, ...] = (
    [RunEvent(status=Status(message="thinking"))],
    [RunEvent(text_delta="Hel")],
    [RunEvent(text_delta="lo"), DONE],
)


def text(value: str) -> RunEvent:
    return RunEvent(text_delta=value)


class Orchestrator(orchestrator_pb2_grpc.OrchestratorServiceServicer):
    """Answers every run with its script: batches of events, seconds to wait, failures."""

    def __init__(self) -> None:
        self.script: Sequence[Step] = HELLO
        self.requests: list[RunCompletionRequest] = []
        self.whole_requests = 0
        self.callers: list[Caller] = []
        self.running = 0
        self.cancelled: dict[str, float] = {}
        """When the run of an assistant was cancelled."""

    async def RunCompletion(self, request: Any, context: Any) -> AsyncGenerator[Any]:
        self.requests.append(request)
        self.callers.append(caller())
        self.running += 1
        try:
            for step in self.script:
                match step:
                    case float():
                        await asyncio.sleep(step)
                    case Exception():
                        raise step
                    case _:
                        yield RunCompletionResponse(events=step)
        except (asyncio.CancelledError, GeneratorExit):
            self.cancelled[request.assistant_reference] = asyncio.get_running_loop().time()
            raise
        finally:
            self.running -= 1

    async def RunWholeCompletion(self, request: Any, context: Any) -> Any:
        self.whole_requests += 1
        events: list[RunEvent] = []
        try:
            async with aclosing(self.RunCompletion(request.run, context)) as run:
                async for response in run:
                    events += response.events
        except HeddleError as error:
            if any(event.HasField("tool_finished") for event in events):
                error.metadata[TOOLS_RAN] = "true"
            raise
        shown = [event for event in events if event.WhichOneof("event") not in _PROGRESS]
        return RunWholeCompletionResponse(events=shown)

    async def ListStrategies(self, request: Any, context: Any) -> Any:
        self.callers.append(caller())
        found = [
            orchestrator_pb2.Strategy(
                name="parallel",
                description="All at once.",
                settings_schema_json='{"type":"object"}',
            ),
            orchestrator_pb2.Strategy(name="sequential", description="One by one."),
        ]
        return orchestrator_pb2.ListStrategiesResponse(strategies=found)

    async def ListPromptProcessors(self, request: Any, context: Any) -> Any:
        found = [
            orchestrator_pb2.PromptProcessor(
                name="simple_augment",
                settings_schema_json='{"type":"object"}',
                slots=["moodle_user"],
            )
        ]
        return orchestrator_pb2.ListPromptProcessorsResponse(prompt_processors=found)


class Tools(tool_pb2_grpc.ToolServiceServicer):
    """Has three tools and one broken plugin. `rubric` wants a configuration."""

    def __init__(self) -> None:
        self.script: Sequence[tool_pb2.ExecuteToolResponse | float | Exception] = ()
        """What happens when a tool is run."""
        self.requests: list[tool_pb2.ExecuteToolRequest] = []
        self.assistants: list[assistant_pb2.Assistant] = []
        """Who was said to offer functions."""
        self.callers: list[Caller] = []
        self.cancelled = asyncio.Event()
        self.failure: HeddleError | None = None

    tools = tuple(
        tool_pb2.Tool(
            name=name,
            title=title,
            label=title,
            description=f"Does {title}.",
            default_slot=slot,
            config_schema_json='{"type":"object","properties":{"b":{},"a":{}}}',
            version="1.0",
            category="rag",
            modes=[assistant_pb2.MODE_AUGMENT, assistant_pb2.MODE_FUNCTION],
            functions=[
                FunctionDeclaration(
                    name=f"use_{name}",
                    description="Looks up.",
                    parameters_schema_json='{"type":"object"}',
                )
            ],
        )
        for name, title, slot in (
            ("rubric", "Rubric", "rubric"),
            ("simple_rag", "Knowledge base", "context"),
            ("single_file", "One file", "file"),
        )
    )

    async def ListTools(self, request: Any, context: Any) -> Any:
        first = 0 if not request.page_token else int(request.page_token)
        return tool_pb2.ListToolsResponse(  # one tool a page, so that pages are followed
            tools=self.tools[first : first + 1],
            next_page_token=str(first + 1) if first + 1 < len(self.tools) else "",
            problems=[] if first else [tool_pb2.PluginProblem(origin="folder:x.py", message="?")],
        )

    async def GetTool(self, request: Any, context: Any) -> Any:
        for tool in self.tools:
            if tool.name == request.name:
                return tool_pb2.GetToolResponse(tool=tool)
        raise NotFoundError(f"No tool is named {request.name!r}.")

    async def ValidateToolConfig(self, request: Any, context: Any) -> Any:
        await self.GetTool(request, context)
        wrong = [
            BadRequest.FieldViolation(field=f"config.{name}", description="is not known")
            for name in request.config.fields
        ]
        return tool_pb2.ValidateToolConfigResponse(violations=wrong)

    async def ListFunctions(self, request: Any, context: Any) -> Any:
        if self.failure is not None:
            raise self.failure
        self.assistants.append(request.assistant)
        known = {tool.name: tool.functions for tool in self.tools}
        return tool_pb2.ListFunctionsResponse(
            functions=[
                tool_pb2.ToolFunctions(id=each.id, error=to_status(NotFoundError("No rubric.")))
                if each.name == "rubric"
                else tool_pb2.ToolFunctions(
                    id=each.id,
                    functions=known[each.name],
                    policies=[assistant_pb2.CHANGE_POLICY_RUN] * len(known[each.name]),
                )
                for each in request.invocations
            ]
        )

    async def ExecuteTool(self, request: Any, context: Any) -> AsyncGenerator[Any]:
        self.requests.append(request)
        self.callers.append(caller())
        try:
            for step in self.script:
                match step:
                    case float():
                        await asyncio.sleep(step)
                    case Exception():
                        raise step
                    case _:
                        yield step
        except (asyncio.CancelledError, GeneratorExit):
            self.cancelled.set()
            raise


class Connectors(connector_pb2_grpc.ConnectorServiceServicer):
    """Has two connectors, one of them with models, and keeps pictures."""

    def __init__(self) -> None:
        self.pictures: dict[tuple[str, str], GeneratedImage] = {}
        """By whose they are and what they are called."""
        self.model: Callable[[], str] = lambda: "gpt-x"
        """Returns the name of the model that a caller may use."""

    async def ListConnectors(self, request: Any, context: Any) -> Any:
        connectors = [
            connector_pb2.Connector(name="bypass", debugging=True, usable=True),
            connector_pb2.Connector(name="openai", calls_functions=True, streams=True, usable=True),
        ]
        return connector_pb2.ListConnectorsResponse(connectors=connectors)

    async def ListModels(self, request: Any, context: Any) -> Any:
        ref = assistant_pb2.ModelRef(connector="openai", model=self.model())
        found = [
            connector_pb2.Model(
                ref=ref, title="GPT X", input_kinds=[connector_pb2.INPUT_KIND_IMAGE]
            )
        ]
        problem = connector_pb2.ConnectorProblem(connector="bypass", message="Give it a key.")
        return connector_pb2.ListModelsResponse(models=found, problems=[problem])

    async def GetGeneratedImage(self, request: Any, context: Any) -> Any:
        found = self.pictures.get((caller().identity.subject, request.name))
        if found is None:
            raise NotFoundError("There is no such picture.")
        return connector_pb2.GetGeneratedImageResponse(image=found)


class Assistants(assistant_pb2_grpc.AssistantServiceServicer):
    """Keeps two assistants."""

    kept = tuple(
        assistant_pb2.Assistant(
            id=number,
            name=f"tutor_{number}",
            title=title,
            description="Helps.",
            capabilities=assistant_pb2.Capabilities(vision=True),
            create_time=Timestamp(seconds=1_700_000_000),
        )
        for number, title in (("1", "Biology tutor"), ("2", ""))
    )

    async def GetAssistant(self, request: Any, context: Any) -> Any:
        for assistant in self.kept:
            if request.reference in (assistant.id, f"lamb_assistant.{assistant.id}"):
                return assistant_pb2.GetAssistantResponse(assistant=assistant)
        raise NotFoundError(f"No assistant is named {request.reference!r}.")

    async def ListAssistants(self, request: Any, context: Any) -> Any:
        listed = [
            assistant_pb2.AssistantSummary(
                id=kept.id,
                name=kept.name,
                title=kept.title,
                description=kept.description,
                capabilities=kept.capabilities,
                create_time=kept.create_time,
                connector="openai",
            )
            for kept in self.kept
            if kept.id > read_token(request.page_token)
        ]
        size = request.page_size or len(listed)
        token = write_token(listed[size - 1].id) if len(listed) > size else ""
        return assistant_pb2.ListAssistantsResponse(assistants=listed[:size], next_page_token=token)


@dataclass(frozen=True)
class Neighbours:
    """All services, in one server."""

    orchestrator: Orchestrator = field(default_factory=Orchestrator)
    tools: Tools = field(default_factory=Tools)
    connectors: Connectors = field(default_factory=Connectors)
    assistants: Assistants = field(default_factory=Assistants)

    def reset(self) -> None:
        """Forget every script and everything that was noted."""
        for each in (self.orchestrator, self.tools, self.connectors, self.assistants):
            each.__dict__ = type(each)().__dict__

    def bindings(self) -> list[Binding]:
        registers: tuple[Callable[[Any, Any], None], ...] = (
            orchestrator_pb2_grpc.add_OrchestratorServiceServicer_to_server,
            tool_pb2_grpc.add_ToolServiceServicer_to_server,
            connector_pb2_grpc.add_ConnectorServiceServicer_to_server,
            assistant_pb2_grpc.add_AssistantServiceServicer_to_server,
            record_pb2_grpc.add_RecordServiceServicer_to_server,
        )
        records = record_pb2_grpc.RecordServiceServicer()  # type: ignore[abstract] # answers that it is not implemented
        servicers = (self.orchestrator, self.tools, self.connectors, self.assistants, records)
        return [
            bind(register, servicer, _CHECKS.get(name))
            for name, register, servicer in zip(_SCRIPTED, registers, servicers, strict=True)
        ]


_CHECKS = {"tools": {"plugins": plugins_check([Problem("folder:x.py", "?")])}}
_SCRIPTED = ("orchestrator", "tools", "connector", "assistants", "migration")


@asynccontextmanager
async def serving_neighbours(
    neighbours: Neighbours, transport: str, secret: str | None = None
) -> AsyncGenerator[ServiceClients]:
    """Yield the peers, over gRPC (`rpc`) or called directly (`local`)."""

    @asynccontextmanager
    async def app() -> AsyncGenerator[Sequence[Binding]]:
        yield neighbours.bindings()

    settings = ServiceSettings.model_validate(
        {"HEDDLE_IDENTITY_SECRET": secret, "drain_wait": 0.0, "shutdown_grace": 0.2}
    )
    async with running(app(), settings) as service:
        if transport == "local":
            yield ServiceClients(**dict.fromkeys(SERVICES, service.local))
            return
        contracts = [contracts[0] for contracts in SERVICES.values()]
        async with channel(
            service.address, *contracts, secret=settings.identity_secret
        ) as connection:
            yield ServiceClients(**dict.fromkeys(SERVICES, connection))
