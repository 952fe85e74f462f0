"""Responses that run in the background: they end although no client waits for them."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import grpc
from heddle.conversation.v1 import conversation_pb2 as pb
from heddle_runtime.errors import HeddleError, ProviderGarbledError, ResourceExhaustedError
from heddle_runtime.identity.call_metadata import caller, new_call_options
from heddle_runtime.identity.callers import home
from heddle_runtime.rpc.client import ResponseStream, streaming

from heddle_gateway.http.disconnect import BackgroundRun
from heddle_gateway.http.error_responses import ErrorResponse
from heddle_gateway.http.raw import RawRequest
from heddle_gateway.openai.chat.completions import INCOMPLETE, run_error
from heddle_gateway.openai.chat.event_encoder import EventEncoder
from heddle_gateway.openai.chat.event_stream import EventStream
from heddle_gateway.openai.conversations.turns import store
from heddle_gateway.services import call
from heddle_gateway.state import State

if TYPE_CHECKING:
    from heddle.orchestrator.v1.orchestrator_pb2 import (
        RunCompletionRequest,
        RunCompletionResponse,
    )

    Run = ResponseStream[RunCompletionResponse]

MAX_RUNS = 8
"""The maximum number of responses of a person that run at once in the background."""
_BEAT = 20.0
"""Seconds between two times at which a running response is stored as running."""
_POLL = 0.5
RUNNING = ("queued", "in_progress")
Put = Callable[[], pb.PutResponseRequest]
"""Returns the request that stores the response as it is now."""


async def start(
    state: State,
    request: "RunCompletionRequest",
    encoder: EventEncoder,
    response: dict[str, Any],
    put: Put,
) -> BackgroundRun:
    """Store a response, and begin to run it.

    Args:
        state: The gateway's.
        request: The request of the run.
        encoder: Writes its events.
        response: The response that the encoder fills in.
        put: Returns the request that stores it.

    Raises:
        HeddleError: It cannot be stored, or too many run.
    """
    identity = caller().identity
    run = BackgroundRun((home(identity), identity.subject))
    runs, identifier = state.background, response["id"]
    check_runs(1 + sum(each.owner == run.owner for each in runs.values()))
    await call(state.services.conversations.PutResponse, put())
    runs[identifier] = run
    run.task = asyncio.create_task(_work(state, run, request, encoder, response, put))
    run.task.add_done_callback(lambda _: runs.pop(identifier, None))
    return run


async def _work(
    state: State,
    run: BackgroundRun,
    request: "RunCompletionRequest",
    encoder: EventEncoder,
    response: dict[str, Any],
    put: Put,
) -> None:
    """Run to the end, and store the response."""
    beat = asyncio.create_task(_beat(state, put))
    try:
        completion = state.services.orchestrator.RunCompletion(
            request, **new_call_options(state.settings.deadline_seconds)
        )
        async with streaming(cast("Run", completion)) as parts:
            async for part in parts:
                run.collect(encoder.encode(part.events[:]))
                run.notify()
        if not encoder.finished:
            raise ProviderGarbledError(INCOMPLETE)
        response["store"] = True
        frames = encoder.end()
    except (HeddleError, grpc.aio.AioRpcError) as error:
        frames = encoder.failure(run_error(error, tools_ran=encoder.tools_ran))
    except asyncio.CancelledError:
        frames = encoder.failure(ErrorResponse(499, "The response was cancelled."))
        if run.cancelled:
            response |= {"status": "cancelled", "error": None}
    finally:
        beat.cancel()
    stored = put()
    stored.response.events = b"".join([*run.frames, frames])
    await store(state, stored)
    run.collect(frames)  # not before: clients read what is stored when they see the end
    run.is_done = True
    run.notify()


async def _beat(state: State, put: Put) -> None:
    while True:
        await asyncio.sleep(_BEAT)
        await store(state, put())


def check_runs(count: int) -> None:
    """Refuse a number of responses that would run at once.

    Raises:
        ResourceExhaustedError: There are too many.
    """
    if count > MAX_RUNS:
        raise ResourceExhaustedError(
            f"{MAX_RUNS} of your responses run in the background, the most that are allowed."
        )


async def follow(state: State, request: RawRequest, run: BackgroundRun, after: int = -1) -> None:
    """Stream the events of a run after the one of a number. The run does not need the client."""
    out = EventStream(request, state.settings.keep_alive_seconds)
    index = after + 1
    try:
        with state.running.watch(request) as watcher:
            while True:
                changed = run.changed
                frames, is_last = run.frames[index:], run.is_done
                index += len(frames)
                if is_last:
                    watcher.release()
                if frames or is_last:
                    await out.write(b"".join(frames), last=is_last)
                if is_last:
                    return
                await changed.wait()
    finally:
        out.close()


async def replay(state: State, request: RawRequest, stored: pb.GetResponseResponse) -> bytes:
    """Return the events of a stored response when it has ended, in whatever process it runs."""
    again = pb.GetResponseRequest(id=stored.response.id, with_events=True)
    with state.running.watch(request):
        while stored.response.status in RUNNING:
            await asyncio.sleep(_POLL)
            stored = await call(state.services.conversations.GetResponse, again)
    return stored.response.events
