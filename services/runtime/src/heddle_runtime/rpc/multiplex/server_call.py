"""The server's end of one multiplexed call."""

import asyncio
import time
from contextlib import aclosing
from typing import Any

import structlog
from google.rpc import status_pb2
from heddle.multiplex.v1 import multiplex_pb2 as pb

from heddle_runtime.contract.limits import MAX_MESSAGE_BYTES
from heddle_runtime.errors import (
    DeadlineError,
    HeddleError,
    ResourceExhaustedError,
    to_status,
    unimplemented,
)
from heddle_runtime.rpc.admission import AdmissionControl
from heddle_runtime.rpc.deadlines import Deadlines
from heddle_runtime.rpc.interceptor import INTERNAL_FAILURE, Method, Methods, service_of
from heddle_runtime.rpc.multiplex.send_queue import FRAMES_PER_TURN, MAX_BATCH_BYTES, SendQueue

log = structlog.get_logger(__name__)
_MAX_RESPONSE_BYTES = MAX_MESSAGE_BYTES - 1024  # leaves room for the frame around it


class ServerCall:
    """Runs the method of one call. The servicer receives it as its context."""

    __slots__ = (
        "_credit",
        "_deadline",
        "_expired",
        "_has_credit",
        "_number",
        "_send_queue",
        "task",
    )

    def __init__(
        self,
        number: int,
        call: pb.Open,
        send_queue: SendQueue[pb.CarryResponse],
        deadlines: Deadlines,
        methods: Methods,
        admission: AdmissionControl,
    ) -> None:
        self._number = number
        self._send_queue = send_queue
        self._credit = call.credit
        self._has_credit: asyncio.Future[None] | None = None
        self._expired = False
        self._deadline: float | None = None
        self.task = asyncio.create_task(self._run(call, methods, admission))
        if call.timeout_ms:
            # The client ends the call at its deadline. This ends calls of a client that hangs.
            self._deadline = time.monotonic() + call.timeout_ms / 1000
            deadlines.add(self, self._deadline)
            self.task.add_done_callback(lambda _: deadlines.discard(self))

    def time_remaining(self) -> float | None:
        """Return the seconds until the deadline."""
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def allow(self, size: int) -> None:
        """Add `size` bytes to the flow-control credit that the client grants."""
        self._credit += size
        if self._has_credit is not None and not self._has_credit.done() and self._credit > 0:
            self._has_credit.set_result(None)

    def cancel(self) -> None:
        """End the call without a response."""
        self.task.cancel()

    def expire(self) -> None:
        """End the call because its deadline has passed."""
        self._expired = True
        self.task.cancel()

    async def _run(self, call: pb.Open, methods: Methods, admission: AdmissionControl) -> None:
        try:
            with admission:
                admission.authenticate(
                    service_of(call.method),
                    call.request_id,
                    call.authorization,
                    call.traceparent,
                    call.grant,
                )
                await self._run_method(methods.get(call.method), call)
        except HeddleError as error:
            self._end(to_status(error))
        except asyncio.CancelledError:
            if not self._expired:
                raise
            self._end(to_status(DeadlineError("The deadline of the call has passed.")))
        except Exception as error:
            # The servicer's own failures are converted before. This is a failure in between, such
            # as a response of the wrong type.
            log.exception("unexpected failure", method=call.method, exc_info=error)
            self._end(to_status(HeddleError(INTERNAL_FAILURE)))

    async def _run_method(self, method: Method | None, call: pb.Open) -> None:
        if method is None:
            self._end(to_status(unimplemented(call.method)))
        elif method.streaming:
            await self._stream(method, call)
        else:
            response = await method.implementation(method.decode(call.request), self)
            self._end(None, _encoded(method, response))

    async def _stream(self, method: Method, call: pb.Open) -> None:
        async with aclosing(method.implementation(method.decode(call.request), self)) as responses:
            sent = 0
            async for response in responses:
                message = _encoded(method, response)
                sent += 1
                if self._credit <= 0 or self._send_queue.is_full or sent % FRAMES_PER_TURN == 0:
                    await self._room()
                self._credit -= len(message)
                self._send_queue.batch(len(message)).frames.add(call=self._number, message=message)
        self._end(None)

    async def _room(self) -> None:
        await self._send_queue.wait_for_room()
        while self._credit <= 0:
            self._has_credit = asyncio.get_running_loop().create_future()
            await self._has_credit
        self._has_credit = None

    def _end(self, error: status_pb2.Status | None, message: bytes | None = None) -> None:
        size = len(message or b"")
        if error is not None:
            if error.ByteSize() > MAX_BATCH_BYTES:  # for example thousands of violations
                error.ClearField("details")
            size = error.ByteSize()
        frames = self._send_queue.batch(size).frames
        frames.add(call=self._number, message=message, end=True, error=error)


def _encoded(method: Method, response: Any) -> bytes:  # noqa: ANN401 - the method's own response
    message = method.encode(response)
    if len(message) > _MAX_RESPONSE_BYTES:
        raise ResourceExhaustedError(f"The response has more than {_MAX_RESPONSE_BYTES:,} bytes.")
    return message
