"""`/tools/{name}/run`: a tool alone, without an assistant."""

from collections.abc import AsyncGenerator
from functools import cache
from typing import Annotated, Any, cast

import grpc
import msgspec
from heddle.assistant.v1.assistant_pb2 import Assistant, ModelRef
from heddle.chat.v1 import chat_pb2
from heddle.tool.v1 import tool_pb2 as pb
from heddle_conversion.assistant_json import FieldError, read_struct
from heddle_runtime.errors import HeddleError, ProviderGarbledError, from_rpc
from heddle_runtime.identity.call_metadata import caller, new_call_options
from heddle_runtime.rpc.client import ResponseStream, streaming
from pydantic import Field, create_model

from heddle_gateway.admin.tools import ToolConfig, ToolName
from heddle_gateway.http.disconnect import DisconnectWatcher, GatewayStoppingError
from heddle_gateway.http.error_responses import from_error
from heddle_gateway.http.models import DocumentedAs, Model, StrictModel
from heddle_gateway.openai.chat.aggregation import END, failure
from heddle_gateway.openai.chat.event_encoder import one_line
from heddle_gateway.openai.chat.event_stream import EventStream
from heddle_gateway.routing import Call, Routes
from heddle_gateway.services import LIST_SECONDS, call
from heddle_gateway.transcoding.messages import writer
from heddle_gateway.transcoding.schemas import response_model

_MAX_QUESTION_CHARS = 10_000
_NO_MODEL = ModelRef(connector="bypass", model="simple-bypass")
routes = Routes("catalog")


class ToolRun(StrictModel):
    """What to run a tool with."""

    config: ToolConfig = Field(default={}, description="The settings that `config_schema` has.")
    arguments: dict[str, Any] | None = Field(
        default=None,
        description="The arguments of a call, as a model would write them. Without them the tool "
        "runs as in the mode `augment`.",
    )
    function: str = Field(
        default="",
        description="The function to call, if the tool has several. Ignored without `arguments`.",
    )
    question: str = Field(
        default="",
        max_length=_MAX_QUESTION_CHARS,
        description="The message of the user, which tools search for without `arguments`.",
    )
    stream: bool = Field(default=False, description="Whether the progress is streamed.")


@cache
def _described_outcome() -> type[Model]:
    """Return the model that describes the result of a tool."""
    base = response_model(pb.ToolResult.DESCRIPTOR)
    text = Field(description="The text for the slot.")
    return create_model(base.__name__, __base__=base, __doc__=base.__doc__, text=(str, text))


ToolOutcome = Annotated[dict[str, Any], DocumentedAs(factory=_described_outcome)]


@routes.post(
    "/tools/{name}/run",
    errors=(404, 502),
    content=("text/event-stream",),
    returns=ToolOutcome,
)
async def run(api: Call, name: ToolName, body: ToolRun) -> ToolOutcome | None:
    """Run a tool alone, with the rights of the caller.

    The caller needs the right `run_tools`.
    """
    request = await _request(api, name, body)
    with api.state.running.watch(api.raw) as watcher:
        if body.stream:
            await _stream(api, request, watcher)
            return None
        async for event in _events(api, request):
            if event.HasField("result"):
                return _outcome(event.result)
    raise ProviderGarbledError("The tool service ended without a result.")


async def _request(api: Call, name: str, body: ToolRun) -> pb.ExecuteToolRequest:
    get = pb.GetToolRequest(name=name)
    tool = (await call(api.services.tools.GetTool, get, LIST_SECONDS)).tool
    try:
        config = read_struct(body.config)
    except FieldError as error:
        raise (api.json / "config").invalid(error.problem) from None
    invocation = pb.ToolInvocation(id=name, name=name, config=config)
    if body.arguments is not None:
        function = body.function or (tool.functions[0].name if tool.functions else "")
        if not function:
            raise (api.json / "function").invalid("is required: the tool has several functions")
        invocation.function_call.name = function
        invocation.function_call.arguments_json = (api.json / "arguments").text()
    identity = caller().identity
    # Tools check permissions by the owner of the assistant.
    own = Assistant(owner=identity.subject, organization=identity.organization, model=_NO_MODEL)
    context = pb.RunContext(assistant=own, streaming=body.stream)
    if body.question:
        parts = [chat_pb2.ContentPart(text=body.question)]
        context.messages.add(role=chat_pb2.ROLE_USER, parts=parts)
    return pb.ExecuteToolRequest(invocation=invocation, context=context)


async def _events(
    api: Call, request: pb.ExecuteToolRequest
) -> AsyncGenerator[pb.ExecuteToolResponse]:
    """Yield the events of a run.

    Raises:
        HeddleError: The tool failed.
    """
    running = api.services.tools.ExecuteTool(
        request, **new_call_options(api.state.settings.deadline_seconds)
    )
    try:
        async with streaming(cast("ResponseStream[pb.ExecuteToolResponse]", running)) as events:
            async for event in events:
                yield event
    except grpc.aio.AioRpcError as error:
        raise from_rpc(error) from error


async def _stream(api: Call, request: pb.ExecuteToolRequest, watcher: DisconnectWatcher) -> None:
    """Send the events of a run. A run that fails before its first event has an error response."""
    out = EventStream(api.raw, api.state.settings.keep_alive_seconds)
    ending = b""
    try:
        async for event in _events(api, request):
            if event.HasField("result"):
                ending = _frame("result", _outcome(event.result)) + END
                break
            await out.write(_frame("status", {"message": event.status.message}))
        if not ending:
            raise ProviderGarbledError("The tool service ended without a result.")
    except GatewayStoppingError:
        raise
    except HeddleError as error:
        if not out.started:
            raise
        ending = failure(from_error(error).with_request_id(api.raw.request_id))
    finally:
        out.close()
    watcher.release()  # the server reports a complete response as a disconnect
    await out.write(ending, last=True)


def _frame(kind: str, data: dict[str, Any]) -> bytes:
    return b"data: " + one_line(msgspec.json.encode({"type": kind, "data": data})) + b"\n\n"


def _outcome(result: pb.ToolResult) -> dict[str, Any]:
    members = writer(pb.ToolResult.DESCRIPTOR)(result)
    return {"text": "".join(part.text for part in result.parts), **members}
