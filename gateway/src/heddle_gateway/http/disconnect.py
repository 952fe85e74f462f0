"""Ends a request when nobody waits for its answer any more, or the gateway has to stop."""

import asyncio
from enum import Enum, auto
from types import TracebackType
from typing import Self

from heddle_gateway.http.raw import RawRequest


class End(Enum):
    """Why a request was ended from outside."""

    CLIENT_GONE = auto()
    GATEWAY_STOPS = auto()


class EndedError(Exception):
    """The request was ended from outside."""

    def __init__(self, end: End) -> None:
        super().__init__(end.name)
        self.end = end


class DisconnectWatcher:
    """Cancels the task that serves a request. Open while its `with` block runs.

    The task itself and no other: in-process services run in it, so they stop with it.
    """

    __slots__ = ("_connection", "_end", "_lifelines", "_task")

    def __init__(self, exchange: RawRequest, lifelines: "RunningRequests") -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - coroutines run in tasks
        self._task = task
        self._connection = exchange.connection
        self._lifelines = lifelines
        self._end: End | None = None

    def __enter__(self) -> Self:
        self._connection.watch(self._gone)
        self._lifelines.add(self)
        return self

    def __exit__(self, _: object, error: BaseException | None, __: TracebackType | None) -> None:
        self._lifelines.discard(self)
        self.release()
        if self._end is not None and isinstance(error, asyncio.CancelledError):
            self._task.uncancel()
            raise EndedError(self._end) from None

    def cut(self, end: End) -> None:
        """End the request now: its block ends in an `EndedError`."""
        if self._end is None:
            self._end = end
            self._task.cancel()

    def release(self) -> None:
        """Stop watching the client: its answer is complete."""
        self._connection.release()

    def _gone(self) -> None:
        self.cut(End.CLIENT_GONE)


class RunningRequests(set[DisconnectWatcher]):
    """Those of the requests that are being served."""

    def watching(self, exchange: RawRequest) -> DisconnectWatcher:
        """Return the lifeline of the current task, which serves `exchange`."""
        return DisconnectWatcher(exchange, self)

    def cut_all(self) -> None:
        """End all requests: the gateway stops."""
        for lifeline in tuple(self):
            lifeline.cut(End.GATEWAY_STOPS)
