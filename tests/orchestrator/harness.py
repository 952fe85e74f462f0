"""An orchestrator with a scripted tools service and a scripted connector, over real calls."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
from heddle.assistant.v1 import assistant_pb2, assistant_pb2_grpc
from heddle.chat.v1 import chat_pb2
from heddle.connector.v1 import connector_pb2, connector_pb2_grpc
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.orchestrator.v1 import orchestrator_pb2_grpc as pb_grpc
from heddle.tool.v1 import tool_pb2, tool_pb2_grpc
from heddle.usage.v1 import usage_pb2, usage_pb2_grpc
from heddle_orchestrator.app import OrchestratorSettings, app, connect
from heddle_runtime.contract.struct_codec import from_struct, to_struct
from heddle_runtime.errors import (
    AlreadyExistsError,
    NotFoundError,
    ProviderRefusedError,
    ToolFailedError,
    UnavailableError,
    to_status,
)
from heddle_runtime.identity.call_metadata import Caller, Context, caller, new_call_options
from heddle_runtime.rpc.client import channel
from heddle_runtime.serving.server import Binding, bind, running
from heddle_runtime.settings.service import ServiceSettings

TOOLS = tool_pb2.DESCRIPTOR.services_by_name["ToolService"]
CONNECTORS = connector_pb2.DESCRIPTOR.services_by_name["ConnectorService"]
ASSISTANTS = assistant_pb2.DESCRIPTOR.services_by_name["AssistantService"]
USAGE = usage_pb2.DESCRIPTOR.services_by_name["UsageService"]
ORCHESTRATOR = pb.DESCRIPTOR.services_by_name["OrchestratorService"]


@dataclass
class Tools(tool_pb2_grpc.ToolServiceServicer):
    """Tools whose config sets their behaviour: text, seconds, fail, refuse, statuses, count."""

    seen: list[tool_pb2.ExecuteToolsRequest] = field(default_factory=list)
    started: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a tool runs."""
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    listed: int = 0
    """How often the functions were listed."""
    listing: asyncio.Event | None = None
    """Delays the list until it is set."""
    refusal: Exception | None = None
    """Of the list."""
    going_on: asyncio.Event | None = None
    """Delays all results until it is set."""
    catalog: Sequence[tool_pb2.Tool] | None = ()
    """All tools. None: they cannot be listed."""

    async def ListTools(
        self, request: tool_pb2.ListToolsRequest, context: Context
    ) -> tool_pb2.ListToolsResponse:
        if self.catalog is None:
            raise UnavailableError("The tools cannot be listed.")
        return tool_pb2.ListToolsResponse(tools=self.catalog)

    async def ListFunctions(
        self, request: tool_pb2.ListFunctionsRequest, context: Context
    ) -> tool_pb2.ListFunctionsResponse:
        self.listed += 1
        if self.listing is not None:
            await self.listing.wait()
        if self.refusal:
            raise self.refusal
        listed = [
            tool_pb2.ToolFunctions(
                id=invocation.id,
                functions=[chat_pb2.FunctionDeclaration(name=invocation.name)],
                policies=[invocation.on_change or assistant_pb2.CHANGE_POLICY_RUN],
            )
            for invocation in request.invocations
        ]
        return tool_pb2.ListFunctionsResponse(functions=listed)

    async def ExecuteTools(
        self, request: tool_pb2.ExecuteToolsRequest, context: Context
    ) -> AsyncIterator[tool_pb2.ExecuteToolsResponse]:
        self.seen.append(request)
        events: asyncio.Queue[tool_pb2.ToolEvent] = asyncio.Queue()
        tasks = [asyncio.create_task(self._one(i, events)) for i in request.invocations]
        left = len(tasks)
        try:
            while left:
                event = await events.get()
                left -= event.WhichOneof("event") != "status"
                yield tool_pb2.ExecuteToolsResponse(events=[event])
        finally:
            for task in tasks:
                task.cancel()

    async def _one(
        self, invocation: tool_pb2.ToolInvocation, events: asyncio.Queue[tool_pb2.ToolEvent]
    ) -> None:
        config = from_struct(invocation.config)
        for message in config.get("statuses", []):
            status = tool_pb2.ToolStatus(message=message)
            events.put_nowait(tool_pb2.ToolEvent(id=invocation.id, status=status))
        try:
            self.started.set()
            if self.going_on is not None:
                await self.going_on.wait()
            await asyncio.sleep(config.get("seconds", 0))
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        slot = invocation.slot or "context"
        if config.get("fail") or config.get("refuse"):
            kind = UnavailableError if config.get("fail") else ToolFailedError
            error = to_status(kind("The library is closed."))
            events.put_nowait(tool_pb2.ToolEvent(id=invocation.id, error=error, slot=slot))
            return
        result = tool_pb2.ToolResult(
            parts=[chat_pb2.ContentPart(text=config.get("text", ""))],
            sources=[
                tool_pb2.Source(
                    title=title,
                    uri=f"https://example.org/{title}",
                    score=0.5,
                    excerpt=config.get("excerpt", ""),
                    attributes=config.get("attributes", {}),
                )
                for title in config.get("sources", [])
            ],
            slot=slot,
            result_count=config.get("count"),
            warnings=config.get("warnings", []),
        )
        events.put_nowait(tool_pb2.ToolEvent(id=invocation.id, result=result))


@dataclass
class Connector(connector_pb2_grpc.ConnectorServiceServicer):
    """A model with scripted answers. Stores the requests."""

    batches: Sequence[Sequence[connector_pb2.GenerationEvent]] = ()
    calls: int = 0
    """How often it calls the first declared function before it answers."""
    arguments: str = "{}"
    """Of its calls."""
    going_on: asyncio.Event | None = None
    """Delays all batches but the first until it is set."""
    seen: list[connector_pb2.GenerateMessageRequest] = field(default_factory=list)
    wholes: int = 0
    refusal: Exception | None = None
    window: int = 0
    """The most characters of a prompt; longer ones are refused. 0: no limit."""

    async def GenerateMessage(
        self, request: connector_pb2.GenerateMessageRequest, context: Context
    ) -> AsyncIterator[connector_pb2.GenerateMessageResponse]:
        self.seen.append(request)
        self._check(request)
        for number, batch in enumerate(self._answer(request)):
            if number and self.going_on is not None:
                await self.going_on.wait()
            yield connector_pb2.GenerateMessageResponse(events=batch)

    async def GenerateWholeMessage(
        self, request: connector_pb2.GenerateWholeMessageRequest, context: Context
    ) -> connector_pb2.GenerateWholeMessageResponse:
        self.seen.append(request.generation)
        self.wholes += 1
        self._check(request.generation)
        events = [event for batch in self._answer(request.generation) for event in batch]
        return connector_pb2.GenerateWholeMessageResponse(events=events)

    def _check(self, request: connector_pb2.GenerateMessageRequest) -> None:
        if self.refusal:
            raise self.refusal
        size = sum(len(part.text) for each in request.messages for part in each.parts)
        if 0 < self.window < size:
            raise ProviderRefusedError(
                "The prompt is too long.",
                http_status="400",
                provider_code="context_length_exceeded",
            )

    def _answer(
        self, request: connector_pb2.GenerateMessageRequest
    ) -> Sequence[Sequence[connector_pb2.GenerationEvent]]:
        batches = self.batches or [[text("Hello"), done()]]
        if len(self.seen) > self.calls:
            return batches
        call = chat_pb2.ToolCall(
            id="c", name=request.functions[0].name, arguments_json=self.arguments
        )
        *before, last = batches
        return [*before, [connector_pb2.GenerationEvent(tool_call=call), *last]]


@dataclass
class StoredAssistants(assistant_pb2_grpc.AssistantServiceServicer):
    """One stored assistant, `1`, and its quota."""

    tools: Sequence[assistant_pb2.ToolBinding] = ()
    quota: assistant_pb2.Quota | None = None
    output_hosts: str = ""
    used: list[str] = field(default_factory=list)
    """The confirmations that were used."""
    reads: int = 0
    reading: asyncio.Event | None = None
    """Delays the answer until it is set."""

    async def GetAssistant(
        self, request: assistant_pb2.GetAssistantRequest, context: Context
    ) -> assistant_pb2.GetAssistantResponse:
        self.reads += 1
        if self.reading is not None:
            await self.reading.wait()
        if request.reference not in ("1", "lamb_assistant.1"):
            raise NotFoundError(f"No assistant is named {request.reference!r}.")
        stored = assistant(*self.tools, system_prompt="stored")
        stored.id = "1"
        return assistant_pb2.GetAssistantResponse(
            assistant=stored, quota=self.quota, organization_output_hosts=self.output_hosts
        )

    async def UseConfirmation(
        self, request: assistant_pb2.UseConfirmationRequest, context: Context
    ) -> assistant_pb2.UseConfirmationResponse:
        if request.id in self.used:
            raise AlreadyExistsError("The confirmation was used before.")
        self.used.append(request.id)
        return assistant_pb2.UseConfirmationResponse()


@dataclass
class Usage(usage_pb2_grpc.UsageServiceServicer):
    """Stores the requests, and raises the errors in `failures`."""

    seen: list[usage_pb2.RecordUsageRequest] = field(default_factory=list)
    callers: list[Caller] = field(default_factory=list)
    failures: list[Exception] = field(default_factory=list)
    reserved: list[usage_pb2.ReserveUsageRequest] = field(default_factory=list)
    refusals: list[Exception] = field(default_factory=list)
    """What reservations fail with."""
    nears_end: bool = False
    """What reservations say about the quota."""
    price: assistant_pb2.Price | None = None
    """Of every model."""

    async def GetPrice(
        self, request: usage_pb2.GetPriceRequest, context: Context
    ) -> usage_pb2.GetPriceResponse:
        return usage_pb2.GetPriceResponse(price=self.price)

    async def ReserveUsage(
        self, request: usage_pb2.ReserveUsageRequest, context: Context
    ) -> usage_pb2.ReserveUsageResponse:
        self.reserved.append(request)
        if self.refusals:
            raise self.refusals.pop(0)
        return usage_pb2.ReserveUsageResponse(nears_end=self.nears_end)

    async def RecordUsage(
        self, request: usage_pb2.RecordUsageRequest, context: Context
    ) -> usage_pb2.RecordUsageResponse:
        self.seen.append(request)
        self.callers.append(caller())
        if self.failures:
            raise self.failures.pop(0)
        return usage_pb2.RecordUsageResponse()

    def entries(self) -> list[usage_pb2.UsageEntry]:
        return [entry for request in self.seen for entry in request.entries]

    def settled(self) -> list[str]:
        return [each for request in self.seen for each in request.settled_reservations]


@dataclass
class Harness:
    """The orchestrator and the services around it."""

    orchestrator: grpc.aio.Channel
    tools: Tools
    connector: Connector
    assistants: StoredAssistants
    usage: Usage

    async def batches(
        self,
        request: pb.RunCompletionRequest,
        timeout: float = 10,
    ) -> list[list[pb.RunEvent]]:
        stub = pb_grpc.OrchestratorServiceStub(self.orchestrator)
        call = stub.RunCompletion(request, **new_call_options(timeout))
        return [list(response.events) async for response in call]

    async def whole(self, request: pb.RunCompletionRequest) -> list[pb.RunEvent]:
        stub = pb_grpc.OrchestratorServiceStub(self.orchestrator)
        whole = pb.RunWholeCompletionRequest(run=request)
        return list((await stub.RunWholeCompletion(whole, **new_call_options(10))).events)

    async def events(self, request: pb.RunCompletionRequest) -> list[pb.RunEvent]:
        return [event for batch in await self.batches(request) for event in batch]


@asynccontextmanager
async def serving(*bindings: Binding, secret: str | None) -> AsyncGenerator[str]:
    @asynccontextmanager
    async def bound() -> AsyncGenerator[Sequence[Binding]]:
        yield bindings

    settings = ServiceSettings(drain_wait=0, HEDDLE_IDENTITY_SECRET=secret)  # type: ignore[call-arg] # the alias is the variable's name
    async with running(bound(), settings) as server:
        yield server.address


@asynccontextmanager
async def orchestrating(
    tools: Tools | None = None, connector: Connector | None = None, **settings_: Any
) -> AsyncGenerator[Harness]:
    secret = settings_.get("HEDDLE_IDENTITY_SECRET") or settings_.get("identity_secret")
    # The services implement only what an orchestrator calls.
    tools = tools or Tools()  # type: ignore[abstract] # see above
    connector = connector or Connector()  # type: ignore[abstract] # see above
    stored = StoredAssistants()  # type: ignore[abstract] # see above
    usage = Usage()  # type: ignore[abstract] # see above
    async with (
        serving(
            bind(tool_pb2_grpc.add_ToolServiceServicer_to_server, tools), secret=secret
        ) as tools_at,
        serving(
            bind(connector_pb2_grpc.add_ConnectorServiceServicer_to_server, connector),
            secret=secret,
        ) as connector_at,
        serving(
            bind(assistant_pb2_grpc.add_AssistantServiceServicer_to_server, stored),
            bind(usage_pb2_grpc.add_UsageServiceServicer_to_server, usage),
            secret=secret,
        ) as assistants_at,
    ):
        settings = OrchestratorSettings.model_validate(
            {
                "listen": "127.0.0.1:0",
                "tools_address": tools_at,
                "connector_address": connector_at,
                "assistants_address": assistants_at,
                "drain_wait": 0,
                **settings_,
            }
        )
        async with (
            connect(settings) as clients,
            running(app(settings, clients), settings) as server,
            channel(server.address, ORCHESTRATOR, secret=settings.identity_secret) as orchestrator,
        ):
            yield Harness(orchestrator, tools, connector, stored, usage)


def text(words: str) -> connector_pb2.GenerationEvent:
    return connector_pb2.GenerationEvent(text_delta=words)


def done(usage: chat_pb2.Usage | None = None, **more: str) -> connector_pb2.GenerationEvent:
    ended = chat_pb2.Done(
        finish_reason=chat_pb2.FINISH_REASON_STOP, model="scripted", usage=usage, **more
    )
    return connector_pb2.GenerationEvent(done=ended)


def tool(name: str, slot: str = "", **config: object) -> assistant_pb2.ToolBinding:
    return assistant_pb2.ToolBinding(tool=name, slot=slot, config=to_struct(config))


def function(name: str, **config: object) -> assistant_pb2.ToolBinding:
    """Return a tool that the model calls."""
    mode = assistant_pb2.MODE_FUNCTION
    return assistant_pb2.ToolBinding(tool=name, mode=mode, config=to_struct(config))


def assistant(
    *tools: assistant_pb2.ToolBinding,
    template: str = "",
    system_prompt: str = "",
    strategy: str = "",
) -> assistant_pb2.Assistant:
    return assistant_pb2.Assistant(
        model=assistant_pb2.ModelRef(connector="scripted", model="m"),
        tools=tools,
        prompt_template=template,
        system_prompt=system_prompt,
        strategy=strategy,
    )


def ask(target: assistant_pb2.Assistant | str, words: str = "Why?") -> pb.RunCompletionRequest:
    message = chat_pb2.Message(role=chat_pb2.ROLE_USER, parts=[chat_pb2.ContentPart(text=words)])
    if isinstance(target, str):
        return pb.RunCompletionRequest(assistant_reference=target, messages=[message])
    return pb.RunCompletionRequest(assistant=target, messages=[message])


def kinds(events: Sequence[pb.RunEvent]) -> list[str]:
    return [event.WhichOneof("event") or "" for event in events]


def prompt_of(harness: Harness) -> str:
    """Return the text of the last message of the last request to the model."""
    return harness.connector.seen[-1].messages[-1].parts[0].text
