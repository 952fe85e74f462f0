"""The chat handler: one pipeline for streamed and whole responses, behind several paths."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import grpc
import structlog
from heddle.orchestrator.v1.orchestrator_pb2 import RunEvent
from heddle_runtime.errors import HeddleError, ProviderGarbledError, from_rpc
from heddle_runtime.identity.call_metadata import new_call_options
from heddle_runtime.rpc.client import ResponseStream, streaming
from heddle_runtime.telemetry import log_fields
from heddle_runtime.telemetry.metrics import table
from pydantic import Field

from heddle_gateway.http.body import ClientGoneError, read_body
from heddle_gateway.http.disconnect import DisconnectWatcher, GatewayStoppingError
from heddle_gateway.http.error_responses import (
    ErrorResponse,
    RejectedRequestError,
    add_failure,
    from_error,
    from_exception,
    invalid,
)
from heddle_gateway.http.headers import JSON
from heddle_gateway.http.models import Model
from heddle_gateway.http.raw import RawRequest, RawResponse
from heddle_gateway.openai import served_images
from heddle_gateway.openai.chat import schema
from heddle_gateway.openai.chat.completion_schema import ChatCompletion
from heddle_gateway.openai.chat.event_encoder import Answer, Encoder
from heddle_gateway.openai.chat.event_stream import EventStream
from heddle_gateway.openai.chat.file_references import inline_files
from heddle_gateway.openai.chat.open_webui_tasks import prompt_request, task_request
from heddle_gateway.openai.chat.request import (
    ChatRequest,
    parse_request,
    request_trace,
)
from heddle_gateway.routing import Routes
from heddle_gateway.settings import EventView
from heddle_gateway.state import State

if TYPE_CHECKING:
    from heddle.orchestrator.v1.orchestrator_pb2 import (
        RunCompletionResponse,
        RunWholeCompletionRequest,
    )

    Run = ResponseStream[RunCompletionResponse]

EVENTS_HEADER = "x-heddle-events"
# In the metadata of a failed run that was not streamed: its events are not visible.
TOOLS_RAN = "tools_ran"
TRACE_HEADER = "x-heddle-trace"
_EVENTS = EVENTS_HEADER.encode()
_TRACE = TRACE_HEADER.encode()
_FLAGS = {"true": True, "false": False}
_OPEN_WEBUI = b"x-openwebui-"
_HTTP_LIBRARY = b"aiohttp/"
_VIEWS = get_args(EventView)
INCOMPLETE = "The response ended before it was complete."
Read = Callable[[State, bytes], Awaitable[ChatRequest]]
log = structlog.get_logger(__name__)
routes = Routes("completions")


class ChatHeaders(Model):
    """Headers of chat completions."""

    events: EventView = Field(
        default="auto",
        alias="X-Heddle-Events",
        description="How progress, sources and images are streamed: as Open WebUI shows them, each "
        "once; progress as reasoning text; without progress; or `auto`: `openwebui` for requests "
        "of Open WebUI, else a form for all clients, with citations and links to images. The "
        "default is a setting of the gateway.",
    )
    trace: Literal["true", "false"] = Field(
        default="false",
        alias="X-Heddle-Trace",
        description="`true` adds the trace of the run, like `trace` in the body. Others than those "
        "who may read the assistant get 403.",
    )


OPTIONS: dict[str, Any] = {
    "raw": True,
    "request_headers": ChatHeaders,
    "returns": ChatCompletion,
    "content": ("text/event-stream",),
    "errors": (404, 409, 422, 502),
}


@routes.post("/v1/chat/completions", "/chat/completions", body_model=schema.ChatBody, **OPTIONS)
async def chat(state: State, request: RawRequest) -> None:
    """Answer a conversation as an assistant.

    With `stream` the response is a stream of server-sent events that ends with `[DONE]`. A stream
    that fails ends with a chunk with `error` and then `[DONE]`. Members of the request that are not
    described here are passed to the model's provider.

    Chunks can have a member `heddle`, an object with `type` and `data`, and empty content: `type`
    is `file_change` when a tool changes a file (`data` has `tool`, `call_id`, `file`, `reason`,
    `lines` and `diff`), and `decision` or `output` when an assistant with the strategy `agent`
    selects tools and receives their outputs. Clients must ignore members and types that they do
    not know.

    If tools ran, something failed, or another model than the assistant's answered, the last chunk
    has a `heddle` of the type `report`. The member `heddle` of a response that is not streamed is
    the list of decisions, outputs and the report; the header `X-Heddle-Warning` has the warnings of
    the report. With `X-Heddle-Events: none` there is a report only if something failed or another
    model answered.

    With `trace`, or the header `X-Heddle-Trace: true`, the response has the trace of the run: a
    chunk before the last one, or an item of the list `heddle`, of the type `trace`. Callers who may
    change the assistant get the texts of tools and the prompt in it, others who may read it lengths
    instead. Nothing stores or logs a trace.

    `metadata.current_file` is the file that the user has open, `metadata.current_lines` the visible
    lines (`12` or `10-14`), for assistants with the tool `current_file`.

    Requests of Open WebUI for a title, for tags and the like, with `metadata.task` or a single
    message that begins with `### Task:`, are answered by the small model of the organisation,
    without the assistant's tools.
    """
    await respond(state, request, "")


async def respond(
    state: State,
    request: RawRequest,
    assistant: str | None,
    *,
    debug: bool = False,
    read: Read | None = None,
) -> None:
    """Answer a request.

    Args:
        state: The gateway's.
        request: The request.
        assistant: Its assistant; empty if the body names it, None if nothing does.
        debug: Whether the body may ask for the prompt. Errors then repeat the message under
            `detail`, where clients of these routes read it.
        read: Reads the body in another form than that of chat completions.
    """
    try:
        await state.authenticator.admit(request, required=True)
        response = await _complete(state, request, assistant, debug=debug, read=read)
    except ClientGoneError:
        raise
    except Exception as error:
        if request.status:
            raise
        if not isinstance(error, HeddleError | RejectedRequestError):
            log.exception("unexpected failure", method=request.name)
        add_failure(error)
        response = from_exception(error)
    if isinstance(response, ErrorResponse):
        response = _final(response, request).response(detail=debug)
    if response is not None:
        await request.respond(response)


async def _complete(
    state: State, request: RawRequest, assistant: str | None, *, debug: bool, read: Read | None
) -> RawResponse | ErrorResponse | None:
    settings = state.settings
    view = _view(request, settings.events)
    body = await read_body(request, settings)
    chat_request = await read(state, body) if read else parse_request(body, assistant)
    log_fields.current().assistant = chat_request.run.assistant_reference
    _read_trace_header(request, chat_request)
    if chat_request.has_parts:
        texts = await inline_files(state, chat_request.run, chat_request.places)
        chat_request.adopt(texts)
    answer = Answer(request.request_id, view, partial(served_images.link, state, request))
    if chat_request.background:
        return await chat_request.detach(state, request, answer)
    encoder: Encoder | None = None
    try:
        with state.running.watch(request) as watcher:
            if debug and chat_request.debug:
                chat_request = chat_request.replace(await prompt_request(state, chat_request.run))
            elif chat_request.task:
                try:
                    run = await task_request(state, chat_request.run)
                except HeddleError as error:
                    return run_error(error)
                chat_request = chat_request.replace(run)
            if not chat_request.stream:
                return await _whole(state, chat_request, answer)
            call = state.services.orchestrator.RunCompletion(
                chat_request.run, **new_call_options(settings.deadline_seconds)
            )
            encoder = chat_request.encoder(answer)
            async with streaming(cast("Run", call)) as events:
                end = partial(chat_request.end, state, encoder)
                notes = chat_request.notes
                return await _stream(state, request, encoder, events, watcher, notes, end)
    except GatewayStoppingError as error:
        if request.status == 0 or encoder is None:
            raise
        add_failure(error)
        if not request.connection.response_complete:  # else only the run continues
            response = _final(from_error(error), request)
            request.failed_status = response.status
            table.CANCELLED_STREAMS.add(1, "stopping")
            await request.write(encoder.failure(response), last=True)
        return None


async def _stream(
    state: State,
    request: RawRequest,
    encoder: Encoder,
    run: "Run",
    watcher: DisconnectWatcher,
    notes: list[RunEvent],
    end: Callable[[], Awaitable[bytes]],
) -> ErrorResponse | None:
    out = EventStream(request, state.settings.keep_alive_seconds)
    try:
        try:
            async for response in run:
                frames = encoder.encode([*notes, *response.events] if notes else response.events[:])
                notes = []
                if encoder.finished:
                    watcher.release()  # the server reports a complete response as a disconnect
                    frames += await end()
                if frames:
                    await out.write(frames, last=encoder.finished)
            if encoder.finished:
                return None
            raise ProviderGarbledError(INCOMPLETE)
        except (HeddleError, grpc.aio.AioRpcError) as error:
            failed = run_error(error, tools_ran=encoder.tools_ran)
    finally:
        out.close()
    request.failed_status = failed.status
    if encoder.finished:
        return None  # the client has the whole response; the log line of the call has the error
    if not out.started:
        return failed
    watcher.release()
    await out.write(encoder.failure(_final(failed, request)), last=True)
    return None


async def _whole(
    state: State, chat_request: ChatRequest, answer: Answer
) -> RawResponse | ErrorResponse:
    encoder = chat_request.encoder(answer, streamed=False)
    encoder.encode(chat_request.notes)
    try:
        await run_whole(state, chat_request.whole, encoder)
        await chat_request.end(state, encoder)
    except (HeddleError, grpc.aio.AioRpcError) as error:
        return run_error(error, tools_ran=encoder.tools_ran)
    return RawResponse(200, encoder.body(), (*JSON, *encoder.report.header()))


async def run_whole(state: State, request: "RunWholeCompletionRequest", encoder: Encoder) -> None:
    """Run a request and give its events to `encoder`.

    Raises:
        AioRpcError: The run failed.
        ProviderGarbledError: It ended without a completion.
    """
    response = await state.services.orchestrator.RunWholeCompletion(
        request, **new_call_options(state.settings.deadline_seconds)
    )
    encoder.encode(response.events[:])
    if not encoder.finished:
        raise ProviderGarbledError(INCOMPLETE)


def run_error(error: Exception, *, tools_ran: bool = False) -> ErrorResponse:
    """Return the error response of a run that failed with an error of gRPC or of Heddle.

    Args:
        error: The error.
        tools_ran: Whether another attempt would run tools again.
    """
    known = from_rpc(error) if isinstance(error, grpc.aio.AioRpcError) else error
    assert isinstance(known, HeddleError)  # noqa: S101 - the callers catch these two
    add_failure(known)
    response = from_error(known, model=True)
    return replace(
        response, retry=response.retry and not (tools_ran or TOOLS_RAN in known.metadata)
    )


def _final(error: ErrorResponse, request: RawRequest) -> ErrorResponse:
    """Return an error as the client of a request receives it."""
    identifier = request.request_id
    return error.with_request_id(identifier).for_path(request.scope["path"], identifier)


def _read_trace_header(request: RawRequest, chat_request: ChatRequest) -> None:
    if _TRACE not in request.headers:
        return
    value = request.header(TRACE_HEADER)
    if value not in _FLAGS:
        raise invalid(TRACE_HEADER, f"must be one of {', '.join(_FLAGS)}", "The header")
    request_trace(chat_request.run, enabled=_FLAGS[value])


def _view(request: RawRequest, default: EventView) -> EventView:
    view = default
    if _EVENTS in request.headers:
        value = request.header(EVENTS_HEADER)
        if value not in _VIEWS:
            raise invalid(EVENTS_HEADER, f"must be one of {', '.join(_VIEWS)}", "The header")
        view = cast("EventView", value)
    return "openwebui" if view == "auto" and _is_open_webui(request) else view


def _is_open_webui(request: RawRequest) -> bool:
    """Return whether Open WebUI sends a request.

    It names itself only in the headers about its user, which an operator turns on. Otherwise only
    its HTTP library is known, with which no client library of OpenAI calls.
    """
    for name in request.headers:
        if name.startswith(_OPEN_WEBUI):
            return True
    return _HTTP_LIBRARY in request.headers.get(b"user-agent", b"")
