"""Responses that run in the background: they end although no client waits for them."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, cast

import grpc
from heddle.conversation.v1 import conversation_pb2 as pb
from heddle_runtime.errors import HeddleError, ProviderGarbledError, ResourceExhaustedError
from heddle_runtime.identity.call_metadata import caller, new_call_options
from heddle_runtime.identity.callers import home
from heddle_runtime.rpc.client import ResponseStream, streaming

from heddle_gateway.http.error_responses import ErrorResponse
from heddle_gateway.http.raw import RawRequest
from heddle_gateway.openai.chat.completions import run_error
from heddle_gateway.openai.chat.event_stream import EventStream
from heddle_gateway.openai.responses.encoder import ResponseEncoder
from heddle_gateway.openai.responses.turns import store
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
_INCOMPLETE = "The response ended before it was complete."
Put = Callable[[], pb.PutResponseRequest]


class BackgroundRun:
    """A response that runs in the background, and its events so far."""

    def __init__(self, owner: tuple[str, str], encoder: ResponseEncoder, put: Put) -> None:
        """Take the owner, the encoder, and what makes the request that stores the response."""
        self.owner = owner
        self.frames: list[bytes] = []
        """The events; the number of each is its `sequence_number`."""
        self.is_done = False
        self.changed = asyncio.Event()
        """Replaced by another one when it is set."""
        self.task: asyncio.Task[None] | None = None
        self.cancelled = False
        self._encoder = encoder
        self._put = put

    async def work(self, state: State, request: "RunCompletionRequest") -> None:
        """Run to the end, and store the response."""
        beat = asyncio.create_task(self._beat(state))
        try:
            frames = await self._run(state, request)
        except (HeddleError, grpc.aio.AioRpcError) as error:
            frames = self._encoder.failure(run_error(error, tools_ran=self._encoder.tools_ran))
        except asyncio.CancelledError:
            frames = self._encoder.failure(ErrorResponse(499, "The response was cancelled."))
            if self.cancelled:
                self._encoder.response |= {"status": "cancelled", "error": None}
        finally:
            beat.cancel()
        self._collect(frames)
        request_ = self._put()
        request_.response.events = b"".join(self.frames)
        await store(state, request_)
        self.is_done = True
        self._notify()

    async def _run(self, state: State, request: "RunCompletionRequest") -> bytes:
        run = state.services.orchestrator.RunCompletion(
            request, **new_call_options(state.settings.deadline_seconds)
        )
        async with streaming(cast("Run", run)) as responses:
            async for response in responses:
                self._collect(self._encoder.encode(response.events[:]))
                self._notify()
        if not self._encoder.finished:
            raise ProviderGarbledError(_INCOMPLETE)
        self._encoder.response["store"] = True
        return self._encoder.end()

    async def _beat(self, state: State) -> None:
        while True:
            await asyncio.sleep(_BEAT)
            await store(state, self._put())

    def _collect(self, frames: bytes) -> None:
        self.frames += [each + b"\n\n" for each in frames.split(b"\n\n") if each]

    def _notify(self) -> None:
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()


def check_runs(count: int) -> None:
    """Refuse a number of responses that would run at once.

    Raises:
        ResourceExhaustedError: There are too many.
    """
    if count > MAX_RUNS:
        raise ResourceExhaustedError(
            f"{MAX_RUNS} of your responses run in the background, the most that are allowed."
        )


class BackgroundRuns(dict[str, BackgroundRun]):
    """The responses that run in the background in this process."""

    async def start(
        self, state: State, request: "RunCompletionRequest", encoder: ResponseEncoder, put: Put
    ) -> BackgroundRun:
        """Store a response, and begin to run it.

        Raises:
            HeddleError: It cannot be stored, or too many run.
        """
        identity = caller().identity
        owner = home(identity), identity.subject
        check_runs(1 + sum(each.owner == owner for each in self.values()))
        await call(state.services.conversations.PutResponse, put())
        run = BackgroundRun(owner, encoder, put)
        identifier = encoder.response["id"]
        self[identifier] = run
        run.task = asyncio.create_task(run.work(state, request))
        run.task.add_done_callback(lambda _: self.pop(identifier, None))
        return run

    async def cancel(self, identifier: str) -> None:
        """Cancel a response if it runs in this process, and wait for its end."""
        run = self.get(identifier)
        if run is not None and run.task is not None:
            run.cancelled = True
            run.task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait({run.task})


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
