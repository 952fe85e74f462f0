"""A tool of a plugin that runs in a process of its own."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass

from google.protobuf.message import Message
from google.rpc import status_pb2
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.errors import HeddleError, NotFoundError, from_status
from heddle_runtime.identity.call_metadata import Caller, caller
from heddle_runtime.redaction import redact
from heddle_runtime.telemetry import spans
from msgspec import structs

from heddle_tools_service.contract.conversation import Conversation
from heddle_tools_service.definitions.capability_injection import Provider
from heddle_tools_service.workers import frames
from heddle_tools_service.workers.calls import CallRequest
from heddle_tools_service.workers.capability_calls import CapabilityCalls
from heddle_tools_service.workers.supervisor import PluginSupervisor

_VALIDATION_SECONDS = 5.0
_FAILED = "The tool failed. Give the request id to the operator."
_MAX_DIAGNOSIS_CHARS = 2_000


@dataclass(eq=False, slots=True)
class PluginTool:
    """A tool of a plugin. The plugin's process carries out each of its methods."""

    description: pb.Tool
    """The description for clients."""
    supervisor: PluginSupervisor
    """The supervisor of the plugin's processes."""
    providers: Mapping[str, Provider]
    """The providers of capabilities that plugins can call, by name."""
    _: KW_ONLY
    disabled: bool
    """Whether the operator has switched it off."""

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.description.name

    @property
    def problem(self) -> str:
        """Why the tool cannot run now, for operators; empty if it can."""
        return self.supervisor.problem

    async def validate(
        self, requests: Sequence[pb.ValidateToolConfigRequest]
    ) -> Sequence[pb.ValidateToolConfigResponse]:
        """Return the violations of each configuration; a single one's effective form, too.

        Raises:
            HeddleError: The process ends, or sends something else.
            TimeoutError: The plugin takes too long.
        """
        batch = pb.BatchValidateToolConfigsRequest(requests=requests)
        ended = await self._run("validate", batch, pb.RunContext(), _VALIDATION_SECONDS)
        responses = pb.BatchValidateToolConfigsResponse.FromString(_result(ended)).responses
        if len(responses) != len(requests):
            raise HeddleError(_FAILED)
        return responses

    async def list_functions(
        self, invocation: pb.ToolInvocation, context: pb.RunContext, seconds: float
    ) -> pb.ToolFunctions:
        """Return the functions that a model may call.

        Args:
            invocation: The tool and its configuration.
            context: Names the assistant that offers them.
            seconds: Until the deadline of the call.
        """
        request = pb.ListFunctionsRequest(invocations=[invocation], assistant=context.assistant)
        ended = await self._run("functions", request, context, seconds)
        functions = pb.ToolFunctions.FromString(_result(ended))
        functions.id = invocation.id
        return functions

    async def assess(
        self, invocation: pb.ToolInvocation, context: pb.RunContext, seconds: float
    ) -> list[pb.Assessment]:
        """Return whether the routing agent may choose the tool now, and whether it must.

        Args:
            invocation: The tool and its configuration.
            context: The run.
            seconds: Until the deadline of the call.
        """
        request = pb.AssessToolsRequest(invocations=[invocation], context=_without_grant(context))
        ended = await self._run("assess", request, context, seconds)
        assessments = [pb.Assessment.FromString(each) for each in _results(ended)]
        for each in assessments:
            each.id = invocation.id
        return assessments

    async def execute(
        self,
        invocation: pb.ToolInvocation,
        context: pb.RunContext,
        seconds: float,
        on_status: Callable[[pb.ToolStatus], None],
    ) -> pb.ToolResult:
        """Run the tool.

        Args:
            invocation: The tool, its configuration, and what a model calls it with.
            context: The run.
            seconds: Until the deadline of the call.
            on_status: Receives the tool's statuses.

        Raises:
            HeddleError: The tool fails.
        """
        if self.disabled:
            raise NotFoundError(f"The function of the tool {self.name!r} is switched off here.")
        request = pb.ExecuteToolRequest(invocation=invocation, context=_without_grant(context))

        def on_event(event: bytes) -> None:
            on_status(pb.ToolEvent.FromString(event).status)

        ended = await self._run("execute", request, context, seconds, on_event)
        return pb.ToolResult.FromString(_result(ended))

    async def _run(
        self,
        kind: frames.Kind,
        request: Message,
        context: pb.RunContext,
        seconds: float,
        on_event: Callable[[bytes], None] = lambda _: None,
    ) -> frames.Ended:
        call = Conversation(context).call(config=None, seconds=seconds, mode="augment")
        current = caller()
        own_trace = spans.trace_of_calls(current.traceparent)
        calling = structs.replace(current, traceparent=own_trace)
        capabilities = CapabilityCalls(self.providers, call, calling, self.supervisor.origin)
        shown = Caller(current.request_id, structs.replace(current.identity, key_id=""))
        message = request.SerializeToString()
        async with asyncio.timeout(seconds):
            return await self.supervisor.run(
                CallRequest(kind, message, seconds, shown, capabilities, on_event)
            )


def _without_grant(context: pb.RunContext) -> pb.RunContext:
    """Return a copy without the grant to read collections: plugins must not receive it."""
    copy = pb.RunContext()
    copy.CopyFrom(context)
    copy.ClearField("grant")
    return copy


def _results(ended: frames.Ended) -> list[bytes]:
    if ended.error is not None:
        error = from_status(status_pb2.Status.FromString(ended.error))
        error.diagnosis = redact(ended.diagnosis[:_MAX_DIAGNOSIS_CHARS])
        raise error
    return ended.results


def _result(ended: frames.Ended) -> bytes:
    results = _results(ended)
    if len(results) != 1:
        raise HeddleError(_FAILED)
    return results[0]
