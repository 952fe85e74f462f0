"""`heddle.tool.v1.ToolService`."""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence

from heddle.tool.v1 import tool_pb2 as pb
from heddle.tool.v1 import tool_pb2_grpc as pb_grpc
from heddle_runtime.contract.paging import page
from heddle_runtime.errors import InvalidRequestError, NotFoundError, Violation, from_status
from heddle_runtime.identity.assistant_owners import AssistantOwners
from heddle_runtime.identity.call_metadata import Context, caller, remaining
from heddle_runtime.identity.grants import carrying

from heddle_tools_service.contract.conversation import Conversation
from heddle_tools_service.installed.config_validation import validate_configs
from heddle_tools_service.mcp_inspection import MCP, McpInspection
from heddle_tools_service.providers.semantic_similarity import SemanticSimilarity
from heddle_tools_service.running.execution import running
from heddle_tools_service.running.tool_runner import ToolRunner

MAX_INVOCATIONS = 64
MAX_CONFIGS = 5_000
_MAX_MESSAGE_BYTES = 4 * 1024 * 1024
"""Events beyond this size go into another message."""


class ToolServicer(pb_grpc.ToolServiceServicer):
    """Translates between the contract and the tool runner."""

    def __init__(
        self,
        runner: ToolRunner,
        similarity: SemanticSimilarity,
        owners: AssistantOwners,
        inspection: McpInspection,
    ) -> None:
        self._runner = runner
        self._similarity = similarity
        self._owners = owners
        self._inspection = inspection
        self._registry = runner.registry

    async def ListTools(
        self, request: pb.ListToolsRequest, context: Context
    ) -> pb.ListToolsResponse:
        """List one page of tools; the first page also has the plugins that could not be loaded."""
        tools, next_token = page(
            self._registry.descriptions,
            lambda tool: tool.name,
            request.page_size,
            request.page_token,
        )
        problems = () if request.page_token else self._registry.problems
        return pb.ListToolsResponse(
            tools=tools,
            next_page_token=next_token,
            problems=[
                pb.PluginProblem(origin=problem.origin, message=problem.message)
                for problem in problems
            ],
        )

    async def GetTool(self, request: pb.GetToolRequest, context: Context) -> pb.GetToolResponse:
        """Describe one tool."""
        return pb.GetToolResponse(tool=self._registry.description(request.name))

    async def ValidateToolConfig(
        self, request: pb.ValidateToolConfigRequest, context: Context
    ) -> pb.ValidateToolConfigResponse:
        """Return the violations of a configuration; an invalid one is no error."""
        self._registry.description(request.name)  # an unknown tool is an error
        [response] = await validate_configs(self._registry, [request], effective=True)
        return response

    async def BatchValidateToolConfigs(
        self, request: pb.BatchValidateToolConfigsRequest, context: Context
    ) -> pb.BatchValidateToolConfigsResponse:
        """Return the violations of each configuration; an unknown tool is one, too."""
        _check_number(request)
        responses = await validate_configs(self._registry, request.requests, effective=False)
        return pb.BatchValidateToolConfigsResponse(responses=responses)

    async def ListFunctions(
        self, request: pb.ListFunctionsRequest, context: Context
    ) -> pb.ListFunctionsResponse:
        """Return the functions that a model may call."""
        _check(request.invocations, "invocations[{}]")
        seconds = remaining(context)
        run = self._owners.checked(pb.RunContext(assistant=request.assistant), caller().grant)
        functions = [
            self._runner.list_functions(invocation, run, seconds)
            for invocation in request.invocations
        ]
        return pb.ListFunctionsResponse(functions=await asyncio.gather(*functions))

    async def InspectMcpServer(
        self, request: pb.InspectMcpServerRequest, context: Context
    ) -> pb.InspectMcpServerResponse:
        """Return the tools of an MCP server, compared with pins."""
        if self._registry.get(MCP).disabled:  # such an installation reaches no MCP servers
            raise NotFoundError(f"The tool {MCP!r} is switched off here.")
        tools = await self._inspection.tools(request, caller().identity, remaining(context))
        return pb.InspectMcpServerResponse(tools=tools)

    async def AssessTools(
        self, request: pb.AssessToolsRequest, context: Context
    ) -> pb.AssessToolsResponse:
        """Return the tools that the routing agent may choose."""
        _check(request.invocations, "invocations[{}]")
        seconds = remaining(context)
        run = self._owners.checked(request.context, request.context.grant)
        with carrying(run.grant):
            pending = [
                self._runner.assess(invocation, run, seconds) for invocation in request.invocations
            ]
            assessments = [each for some in await asyncio.gather(*pending) for each in some]
            if request.compare:
                tree = run.tree
                question = tree.query or tree.user_prompt or Conversation(run).query
                await self._similarity.compare(question, assessments, remaining(context))
        return pb.AssessToolsResponse(assessments=assessments)

    async def ExecuteTool(
        self, request: pb.ExecuteToolRequest, context: Context
    ) -> AsyncGenerator[pb.ExecuteToolResponse]:
        """Stream a tool's status messages, then its result or its error."""
        _check([request.invocation], "invocation")
        run = self._owners.checked(request.context, request.context.grant)
        begin = self._runner.open(run, remaining(context))
        async with running([request.invocation], begin) as outbox:
            while events := await outbox.take():
                for event in events:
                    if event.HasField("error"):
                        raise from_status(event.error)
                    if event.HasField("status"):
                        yield pb.ExecuteToolResponse(status=event.status)
                    else:
                        yield pb.ExecuteToolResponse(result=event.result)

    async def ExecuteTools(
        self, request: pb.ExecuteToolsRequest, context: Context
    ) -> AsyncGenerator[pb.ExecuteToolsResponse]:
        """Stream the events of all invocations; events that are ready together share a message."""
        _check(request.invocations, "invocations[{}]")
        run = self._owners.checked(request.context, request.context.grant)
        begin = self._runner.open(run, remaining(context))
        async with running(request.invocations, begin) as outbox:
            while events := await outbox.take():
                for batch in _batches(events):
                    yield pb.ExecuteToolsResponse(events=batch)


def _check(invocations: Sequence[pb.ToolInvocation], path: str) -> None:
    if violations := list(_violations(invocations, path)):
        raise InvalidRequestError("The invocations are wrong.", violations)


def _check_number(request: pb.BatchValidateToolConfigsRequest) -> None:
    if len(request.requests) > MAX_CONFIGS:
        violation = Violation("requests", f"must have at most {MAX_CONFIGS} items")
        raise InvalidRequestError("The batch is too large.", [violation])


def _violations(invocations: Sequence[pb.ToolInvocation], path: str) -> Iterator[Violation]:
    if len(invocations) > MAX_INVOCATIONS:
        yield Violation("invocations", f"must have at most {MAX_INVOCATIONS} items")
        return
    identifiers: set[str] = set()
    for index, invocation in enumerate(invocations):
        place = path.format(index)
        if invocation.id in identifiers:
            yield Violation(f"{place}.id", "is the id of another invocation")
        identifiers.add(invocation.id)
        if invocation.HasField("timeout") and invocation.timeout.ToNanoseconds() <= 0:
            yield Violation(f"{place}.timeout", "must be more than 0")


def _batches(events: Iterable[pb.ToolEvent]) -> Iterator[list[pb.ToolEvent]]:
    """Yield events in lists that each fit into a message."""
    batch: list[pb.ToolEvent] = []
    size = 0
    for event in events:
        batch.append(event)
        size += event.ByteSize()
        if size > _MAX_MESSAGE_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
