"""Cancels a request when its client disconnects or the gateway stops."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from types import TracebackType
from typing import Self

from heddle_runtime.errors import ResourceExhaustedError, UnavailableError
from heddle_runtime.telemetry.metrics import gauges

from heddle_gateway.http.body import ClientGoneError
from heddle_gateway.http.raw import RawRequest


class BackgroundRun:
    """An answer that runs in the background, and its frames so far."""

    def __init__(self, owner: tuple[str, str]) -> None:
        """Take the organisation and the person that it belongs to."""
        self.owner = owner
        self.frames: list[bytes] = []
        self.is_done = False
        self.changed = asyncio.Event()
        """Replaced by another one when it is set."""
        self.task: asyncio.Task[None] | None = None
        self.cancelled = False

    def collect(self, frames: bytes) -> None:
        """Add frames, which have not been announced yet."""
        self.frames += split_frames(frames)

    def notify(self) -> None:
        """Announce what is new."""
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()


class BackgroundRuns(dict[str, BackgroundRun]):
    """The answers that run in the background in this process, by their identifiers."""

    async def cancel(self, identifier: str) -> None:
        """Cancel an answer if it runs in this process, and wait for its end."""
        run = self.get(identifier)
        if run is not None and run.task is not None:
            run.cancelled = True
            run.task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait({run.task})


class BackgroundTasks:
    """Work after answers that no client waits for. It ends by itself."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[None, None, None]) -> None:
        """Begin some work, as the caller of the current task."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def split_frames(frames: bytes) -> list[bytes]:
    """Return server-sent events one by one."""
    return [each + b"\n\n" for each in frames.split(b"\n\n") if each]


class GatewayStoppingError(UnavailableError):
    """The gateway stopped before the response was complete."""

    def __init__(self) -> None:
        super().__init__("The gateway is being stopped. Try again.", retry_after=1.0)


class DisconnectWatcher:
    """Cancels the task that serves a request, while its `with` block runs.

    It cancels that task only. Services within the process run in the same task and stop with it.
    """

    __slots__ = ("_connection", "_error", "_running", "_task")

    def __init__(self, request: RawRequest, running: "RunningRequests") -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - coroutines run in tasks
        self._task = task
        self._connection = request.connection
        self._running = running
        self._error: type[ClientGoneError | GatewayStoppingError] | None = None

    def __enter__(self) -> Self:
        self._connection.watch(self._on_disconnect)
        self._running.add(self)
        return self

    def __exit__(self, _: object, error: BaseException | None, __: TracebackType | None) -> None:
        self._running.discard(self)
        self.release()
        if self._error is not None and isinstance(error, asyncio.CancelledError):
            self._task.uncancel()
            raise self._error from None

    def stop(self) -> None:
        """Cancel the request because the gateway stops."""
        self._cancel(GatewayStoppingError)

    def release(self) -> None:
        """Stop watching the client: its response is complete."""
        self._connection.release()

    def _on_disconnect(self) -> None:
        self._cancel(ClientGoneError)

    def _cancel(self, error: type[ClientGoneError | GatewayStoppingError]) -> None:
        """Cancel the task; the `with` block ends with `error`."""
        if self._error is None:
            self._error = error
            self._task.cancel()


class RunningRequests(set[DisconnectWatcher]):
    """The watchers of long requests, and the number of all requests.

    Use as `with running:` for each request.
    """

    transport = "http"

    def __init__(self, max_requests: int) -> None:
        super().__init__()
        self._max_requests = max_requests
        self._requests = 0
        gauges.add_limited(self)

    # Compared and hashed by identity, as an object and not as a set.
    __hash__ = object.__hash__  # type: ignore[assignment] # a set has none
    __eq__ = object.__eq__

    @property
    def in_progress(self) -> int:
        """The number of requests now."""
        return self._requests

    @property
    def limit(self) -> int:
        """The number of requests at most."""
        return self._max_requests

    def __enter__(self) -> None:
        if self._requests >= self._max_requests:
            raise ResourceExhaustedError("The gateway is busy. Try again.", retry_after=1.0)
        self._requests += 1

    def __exit__(self, *_: object) -> None:
        self._requests -= 1

    def watch(self, request: RawRequest) -> DisconnectWatcher:
        """Return a watcher for the current task, which serves `request`."""
        return DisconnectWatcher(request, self)

    def stop_all(self) -> None:
        """Cancel all requests because the gateway stops."""
        for watcher in tuple(self):
            watcher.stop()
