"""`heddle.tool.v1.ToolService`."""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence

from google.rpc import error_details_pb2
from heddle.tool.v1 import tool_pb2 as pb
from heddle.tool.v1 import tool_pb2_grpc as pb_grpc
from heddle_runtime.call_metadata import remaining
from heddle_runtime.errors import HeddleError, InvalidRequestError, Violation, to_status
from heddle_runtime.paging import page
from heddle_runtime.server_interceptor import Context
from heddle_runtime.struct_codec import to_struct

from heddle_tools_service.execution import Event, running
from heddle_tools_service.workshop import Workshop

_MOST_INVOCATIONS = 64
_LARGE = 4 * 1024 * 1024
"""Bytes of events after which another message begins."""


class ToolServicer(pb_grpc.ToolServiceServicer):
    """Translates between the contract and the tools."""

    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop
        self._registry = workshop.registry

    async def ListTools(
        self, request: pb.ListToolsRequest, context: Context
    ) -> pb.ListToolsResponse:
        """List one page of tools, and on the first one what could not be installed."""
        found, next_token = page(
            self._registry, lambda tool: tool.name, request.page_size, request.page_token
        )
        problems = () if request.page_token else self._registry.problems
        return pb.ListToolsResponse(
            tools=map(self._registry.describe, found),
            next_page_token=next_token,
            problems=[
                pb.PluginProblem(origin=problem.origin, message=problem.message)
                for problem in problems
            ],
        )

    async def GetTool(self, request: pb.GetToolRequest, context: Context) -> pb.GetToolResponse:
        """Describe one tool."""
        return pb.GetToolResponse(tool=self._registry.describe(self._registry.get(request.name)))

    async def ValidateToolConfig(
        self, request: pb.ValidateToolConfigRequest, context: Context
    ) -> pb.ValidateToolConfigResponse:
        """Answer with what is wrong instead of failing."""
        effective, violations = self._registry.get(request.name).validate(request.config)
        if not violations:
            return pb.ValidateToolConfigResponse(effective_config=to_struct(effective))
        return pb.ValidateToolConfigResponse(
            violations=[
                error_details_pb2.BadRequest.FieldViolation(
                    field=violation.field, description=violation.description
                )
                for violation in violations
            ]
        )

    async def ListFunctions(
        self, request: pb.ListFunctionsRequest, context: Context
    ) -> pb.ListFunctionsResponse:
        """Tell what a model may call."""
        _check(request.invocations, "invocations[{}]")
        left = remaining(context)
        offers = [
            self._workshop.offer(invocation, request.assistant, left)
            for invocation in request.invocations
        ]
        return pb.ListFunctionsResponse(functions=await asyncio.gather(*offers))

    async def AssessTools(
        self, request: pb.AssessToolsRequest, context: Context
    ) -> pb.AssessToolsResponse:
        """Tell what the routing agent may choose among."""
        _check(request.invocations, "invocations[{}]")
        left = remaining(context)
        assessments = [
            self._workshop.assess(invocation, request.context, left)
            for invocation in request.invocations
        ]
        told = await asyncio.gather(*assessments)
        if request.compare:
            await self._workshop.compare(told, request.context, remaining(context))
        return pb.AssessToolsResponse(assessments=told)

    async def ExecuteTool(
        self, request: pb.ExecuteToolRequest, context: Context
    ) -> AsyncGenerator[pb.ExecuteToolResponse]:
        """Stream a tool's status messages, then its result, or fail with it."""
        _check([request.invocation], "invocation")
        begin = self._workshop.open(request.context, remaining(context))
        async with running([request.invocation], begin) as outbox:
            while events := await outbox.take():
                for event in events:
                    if isinstance(event.what, HeddleError):
                        raise event.what
                    if isinstance(event.what, pb.ToolStatus):
                        yield pb.ExecuteToolResponse(status=event.what)
                    else:
                        yield pb.ExecuteToolResponse(result=event.what)

    async def ExecuteTools(
        self, request: pb.ExecuteToolsRequest, context: Context
    ) -> AsyncGenerator[pb.ExecuteToolsResponse]:
        """Stream what happens in all invocations; what is ready together goes out together."""
        _check(request.invocations, "invocations[{}]")
        begin = self._workshop.open(request.context, remaining(context))
        async with running(request.invocations, begin) as outbox:
            while events := await outbox.take():
                for some in _messages(map(_event, events)):
                    yield pb.ExecuteToolsResponse(events=some)


def _check(invocations: Sequence[pb.ToolInvocation], path: str) -> None:
    if violations := list(_violations(invocations, path)):
        raise InvalidRequestError("The invocations are wrong.", violations)


def _violations(invocations: Sequence[pb.ToolInvocation], path: str) -> Iterator[Violation]:
    if len(invocations) > _MOST_INVOCATIONS:
        yield Violation("invocations", f"must have at most {_MOST_INVOCATIONS} items")
        return
    seen: set[str] = set()
    for index, invocation in enumerate(invocations):
        place = path.format(index)
        if invocation.id in seen:
            yield Violation(f"{place}.id", "is the id of another invocation")
        seen.add(invocation.id)
        if invocation.HasField("timeout") and invocation.timeout.ToNanoseconds() <= 0:
            yield Violation(f"{place}.timeout", "must be more than 0")


def _messages(events: Iterable[pb.ToolEvent]) -> Iterator[list[pb.ToolEvent]]:
    """Yield events in as few messages as they may travel in."""
    some: list[pb.ToolEvent] = []
    size = 0
    for event in events:
        some.append(event)
        size += event.ByteSize()
        if size > _LARGE:
            yield some
            some, size = [], 0
    if some:
        yield some


def _event(event: Event) -> pb.ToolEvent:
    match event.what:
        case pb.ToolStatus():
            return pb.ToolEvent(id=event.id, status=event.what)
        case HeddleError():
            return pb.ToolEvent(id=event.id, error=to_status(event.what), slot=event.slot)
        case _:
            return pb.ToolEvent(id=event.id, result=event.what)
