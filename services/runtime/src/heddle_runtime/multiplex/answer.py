"""One call through a pipe, seen from the server."""

import asyncio
import time
from contextlib import aclosing
from typing import Any

import structlog
from google.rpc import status_pb2
from heddle.multiplex.v1 import multiplex_pb2 as pb

from heddle_runtime.admission import AdmissionControl
from heddle_runtime.client import MAX_MESSAGE_BYTES
from heddle_runtime.deadlines import Deadlines
from heddle_runtime.errors import DeadlineError, HeddleError, ResourceExhaustedError, to_status
from heddle_runtime.multiplex.methods import Method, Methods, absent
from heddle_runtime.multiplex.send_queue import BURST, LARGEST_BATCH, SendQueue
from heddle_runtime.server_interceptor import HIDDEN

log = structlog.get_logger(__name__)
_ENVELOPE = 1024
"""Bytes that the frame around a message may take, and more."""


class Answer:
    """Runs the method of one call. It is also the context that the servicer sees."""

    __slots__ = ("_credit", "_deadline", "_late", "_more", "_number", "_outbox", "task")

    def __init__(
        self,
        number: int,
        call: pb.Open,
        outbox: SendQueue[pb.CarryResponse],
        deadlines: Deadlines,
        methods: Methods,
        entrance: AdmissionControl,
    ) -> None:
        self._number = number
        self._outbox = outbox
        self._credit = call.credit
        self._more: asyncio.Future[None] | None = None
        self._late = False
        self._deadline: float | None = None
        self.task = asyncio.create_task(self._run(call, methods, entrance))
        if call.timeout_ms:
            # The client's own clock ends the call for it. This one is for a client that hangs.
            self._deadline = time.monotonic() + call.timeout_ms / 1000
            deadlines.add(self, self._deadline)
            self.task.add_done_callback(lambda _: deadlines.discard(self))

    def time_remaining(self) -> float | None:
        """Return the seconds that are left."""
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def allow(self, size: int) -> None:
        """Take the client's word that it has room for `size` more bytes."""
        self._credit += size
        if self._more is not None and not self._more.done() and self._credit > 0:
            self._more.set_result(None)

    def cancel(self) -> None:
        """End the call without an answer."""
        self.task.cancel()

    def expire(self) -> None:
        """End the call, as its time is up."""
        self._late = True
        self.task.cancel()

    async def _run(self, call: pb.Open, methods: Methods, entrance: AdmissionControl) -> None:
        try:
            with entrance:
                entrance.enter(call.request_id, call.authorization, call.traceparent, call.grant)
                await self._answer(methods.get(call.method), call)
        except HeddleError as error:
            self._end(to_status(error))
        except asyncio.CancelledError:
            if not self._late:
                raise
            self._end(to_status(DeadlineError("The time of the call ran out.")))
        except Exception as error:
            # Only what stands between a servicer and the wire gets here, such as an answer that
            # is not the method's.
            log.exception("unexpected failure", method=call.method, exc_info=error)
            self._end(to_status(HeddleError(HIDDEN)))

    async def _answer(self, method: Method | None, call: pb.Open) -> None:
        if method is None:
            self._end(absent(call.method))
        elif method.streaming:
            await self._stream(method, call)
        else:
            response = await method.behavior(method.decode(call.request), self)
            self._end(None, _encoded(method, response))

    async def _stream(self, method: Method, call: pb.Open) -> None:
        async with aclosing(method.behavior(method.decode(call.request), self)) as responses:
            sent = 0
            async for response in responses:
                message = _encoded(method, response)
                sent += 1
                if self._credit <= 0 or self._outbox.crowded or sent % BURST == 0:
                    await self._room()
                self._credit -= len(message)
                self._outbox.filling(len(message)).frames.add(call=self._number, message=message)
        self._end(None)

    async def _room(self) -> None:
        await self._outbox.room()
        while self._credit <= 0:
            self._more = asyncio.get_running_loop().create_future()
            await self._more
        self._more = None

    def _end(self, error: status_pb2.Status | None, message: bytes | None = None) -> None:
        size = len(message or b"")
        if error is not None:
            if error.ByteSize() > LARGEST_BATCH:  # thousands of violations, say
                error.ClearField("details")
            size = error.ByteSize()
        frames = self._outbox.filling(size).frames
        frames.add(call=self._number, message=message, end=True, error=error)


def _encoded(method: Method, response: Any) -> bytes:  # noqa: ANN401 - the method's own response
    message = method.encode(response)
    if len(message) > MAX_MESSAGE_BYTES - _ENVELOPE:
        raise ResourceExhaustedError("The answer is larger than a message may be.")
    return message
