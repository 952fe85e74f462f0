"""The chat endpoints: one pipeline for streamed and whole answers."""

import random
import time
from collections.abc import Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, cast, get_args
from urllib.parse import quote

import grpc
from heddle_runtime.call_metadata import new_call_options
from heddle_runtime.client import ResponseStream, streaming
from heddle_runtime.errors import (
    HeddleError,
    InvalidRequestError,
    ProviderGarbledError,
    ResourceExhaustedError,
    UnavailableError,
    Violation,
    from_rpc,
)

from heddle_gateway.http import error_responses
from heddle_gateway.http.body import read_body
from heddle_gateway.http.disconnect import DisconnectWatcher, End, EndedError
from heddle_gateway.http.error_responses import ErrorResponse
from heddle_gateway.http.headers import JSON, Headers
from heddle_gateway.http.raw import RawRequest, RawResponse
from heddle_gateway.openai import generated_images
from heddle_gateway.openai.chat import run_events
from heddle_gateway.openai.chat.aggregation import Answer
from heddle_gateway.openai.chat.event_stream import EventStream
from heddle_gateway.openai.chat.open_webui_tasks import as_shown, as_task
from heddle_gateway.openai.chat.request import Order, order
from heddle_gateway.openai.chat.stream_encoder import Frames, failure
from heddle_gateway.openai.models import PREFIX
from heddle_gateway.settings import EventView

if TYPE_CHECKING:
    from heddle.orchestrator.v1.orchestrator_pb2 import (
        RunCompletionResponse,
        RunWholeCompletionRequest,
    )

    from heddle_gateway.state import State

    Run = ResponseStream[RunCompletionResponse]

Answering = Coroutine[Any, Any, RawResponse | ErrorResponse | None]
EVENTS_HEADER = "x-heddle-events"
WARNING_HEADER = b"x-heddle-warning"
_PLAIN = " !#$&'()*+,/:;=?@[]"  # what may stand in a header beside letters; models have odd names
_EVENTS = EVENTS_HEADER.encode()
# In the metadata of a failed whole run, whose events nobody gets to see.
TOOLS_RAN = "tools_ran"
_IDS = random.Random()  # noqa: S311 - an id is no secret, and must cost nothing
_VIEWS = get_args(EventView)
_CUT = "The answer ended before it was complete."
_STOPPING = "The gateway is being stopped. Try again."


def chat(state: "State", exchange: RawRequest) -> Answering:
    """Answer `POST /v1/chat/completions`."""
    return _complete(state, exchange, "")


def lamb_chat(state: "State", exchange: RawRequest) -> Answering:
    """Answer `POST /lamb/v1/completions/?assistant=ID`."""
    assistant = exchange.query("assistant")
    if not assistant:
        raise InvalidRequestError(
            "The query parameter 'assistant' is required.", [Violation("assistant", "is required")]
        )
    return _complete(state, exchange, assistant)


def creator_chat(state: "State", exchange: RawRequest) -> Answering:
    """Answer `POST /creator/assistant/{id}/chat/completions`, where an assistant is tried out."""
    return _complete(state, exchange, f"{PREFIX}{exchange.parameter}", debug=True)


async def _complete(
    state: "State", exchange: RawRequest, assistant: str, *, debug: bool = False
) -> RawResponse | ErrorResponse | None:
    """Answer a request. With `debug` the client may ask for the prompt instead of an answer."""
    settings = state.settings
    view = _view(exchange, settings.events)
    body = await read_body(exchange, settings.max_body_bytes, settings.body_timeout)
    ordered = order(body, assistant)
    refuse_if_busy(state)
    try:
        with state.running.watching(exchange) as lifeline:
            if ordered.task or (debug and ordered.debug):
                try:
                    ordered = await _detour(state, ordered, debug=debug)
                except HeddleError as error:
                    return problem(error)
            if not ordered.stream:
                return await _whole(state, exchange, ordered, view)
            call = state.services.orchestrator.RunCompletion(
                ordered.request, **new_call_options(settings.deadline)
            )
            async with streaming(cast("Run", call)) as run:
                return await _stream(state, exchange, ordered, view, run, lifeline)
    except EndedError as error:
        exchange.gone = error.end is End.CLIENT_GONE
        return None if exchange.gone else await _stop(exchange)


def refuse_if_busy(state: "State") -> None:
    """Raise the error of a gateway that has as much to do as it may."""
    if len(state.running) >= state.settings.max_concurrent_calls:
        raise ResourceExhaustedError("The gateway is busy. Try again.", retry_after=1.0)


async def _detour(state: "State", ordered: Order, *, debug: bool) -> Order:
    if debug and ordered.debug:
        return ordered.instead(await as_shown(state, ordered.request))
    return ordered.instead(await as_task(state, ordered.request))


async def _stop(exchange: RawRequest) -> ErrorResponse | None:
    """Tell the client that the gateway stops, in whatever form is still possible."""
    stopping = stopped()
    if exchange.status == 0:
        return stopping
    if not exchange.connection.response_complete:  # else it is only the run that goes on
        await exchange.write(failure(stopping), last=True)
    return None


def stopped() -> ErrorResponse:
    """Return what is told to a client whose request ends with the gateway."""
    return error_responses.of(UnavailableError(_STOPPING, retry_after=1.0))


async def _stream(
    state: "State",
    exchange: RawRequest,
    ordered: Order,
    view: EventView,
    run: "Run",
    lifeline: DisconnectWatcher,
) -> ErrorResponse | None:
    frames = Frames(
        _identifier(),
        int(time.time()),
        ordered.model,
        view,
        usage=ordered.usage,
        link=partial(generated_images.link, state, exchange),
    )
    out = EventStream(exchange, state.settings.keep_alive)
    try:
        try:
            async for response in run:
                found = frames.batch(response.events[:])
                if frames.finished:
                    lifeline.release()  # the server reports a complete answer as a disconnect
                if found:
                    await out.write(found, last=frames.finished)
            if frames.finished:
                return None
            raise ProviderGarbledError(_CUT)
        except (HeddleError, grpc.aio.AioRpcError) as error:
            failed = problem(error, ran=frames.tools_ran)
    finally:
        out.close()
    if frames.finished:
        return None  # the client has all of it; the call's log line tells the rest
    if not out.started:
        return failed
    lifeline.release()
    await out.write(frames.failure(failed), last=True)
    return None


async def _whole(
    state: "State", exchange: RawRequest, ordered: Order, view: EventView
) -> RawResponse | ErrorResponse:
    answer = Answer(partial(generated_images.link, state, exchange))
    try:
        await answered(state, ordered.whole, answer)
    except (HeddleError, grpc.aio.AioRpcError) as error:
        return problem(error, ran=answer.tools_ran)
    body = answer.body(_identifier(), int(time.time()), ordered.model, view)
    return RawResponse(200, body, (*JSON, *warning(answer)))


async def answered(state: "State", request: "RunWholeCompletionRequest", answer: Answer) -> None:
    """Let `answer` take what happens in a run.

    Raises:
        AioRpcError: The run failed.
        ProviderGarbledError: It ended without an answer.
    """
    response = await state.services.orchestrator.RunWholeCompletion(
        request, **new_call_options(state.settings.deadline)
    )
    answer.take(response.events[:])
    if answer.done is None:
        raise ProviderGarbledError(_CUT)


def warning(answer: Answer) -> Headers:
    """Return the header that tells of an answer what a stream shows as progress."""
    if answer.replaced is None:
        return ()
    told = quote(run_events.replacement(answer.replaced), safe=_PLAIN)
    return ((WARNING_HEADER, told.encode()),)


def _view(exchange: RawRequest, default: EventView) -> EventView:
    if _EVENTS not in exchange.headers:
        return default
    wanted = exchange.header(EVENTS_HEADER)
    if wanted not in _VIEWS:
        what = f"must be one of {', '.join(_VIEWS)}"
        raise InvalidRequestError(
            f"The header {EVENTS_HEADER} {what}.", [Violation(EVENTS_HEADER, what)]
        )
    return cast("EventView", wanted)


def problem(error: Exception, *, ran: bool = False) -> ErrorResponse:
    """Return what is told of a run that failed with an error of gRPC or one of ours.

    Args:
        error: The error.
        ran: Whether a repetition of the request would run tools again.
    """
    known = from_rpc(error) if isinstance(error, grpc.aio.AioRpcError) else error
    assert isinstance(known, HeddleError)  # noqa: S101 - the callers catch these two
    told = error_responses.of(known, model=True)
    return told.final() if ran or TOOLS_RAN in known.metadata else told


def _identifier() -> str:
    return f"chatcmpl-{_IDS.getrandbits(96):024x}"
