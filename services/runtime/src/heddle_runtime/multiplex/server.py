"""The server's end of a pipe."""

import asyncio
import random
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from heddle.multiplex.v1 import multiplex_pb2 as pb
from heddle.multiplex.v1 import multiplex_pb2_grpc as pb_grpc

from heddle_runtime.admission import AdmissionControl
from heddle_runtime.deadlines import Deadlines
from heddle_runtime.multiplex.answer import Answer
from heddle_runtime.multiplex.methods import Methods
from heddle_runtime.multiplex.send_queue import BURST, SendQueue

if TYPE_CHECKING:
    import grpc

LONGEST_LIFE = 300.0
"""Seconds, after which a client has to open a new pipe: so that it comes to know replicas that
were not there when it began."""


class MultiplexServicer(pb_grpc.MultiplexServiceServicer):
    """Answers the calls that come through pipes."""

    def __init__(self, entrance: AdmissionControl, longest_life: float = LONGEST_LIFE) -> None:
        self.methods = Methods()
        self._entrance = entrance
        self._longest_life = longest_life
        self._ends: set[_End] = set()
        self._left = False

    def leave(self) -> None:
        """Ask every client to take its further calls elsewhere."""
        self._left = True
        for end in self._ends:
            end.leave()

    async def Carry(  # type: ignore[override] # noqa: N802 - generated; it writes, not yields
        self,
        request_iterator: AsyncIterator[pb.CarryRequest],
        context: "grpc.aio.ServicerContext[pb.CarryRequest, pb.CarryResponse]",
    ) -> None:
        """Serve one pipe."""
        end = _End(self.methods, self._entrance)
        self._ends.add(end)
        if self._left:  # it was about to begin when the others were told
            end.leave()
        loop = asyncio.get_running_loop()
        # Not all at the same moment.
        life = loop.call_later(self._longest_life * random.uniform(0.8, 1), end.leave)  # noqa: S311 - no secret
        writing = asyncio.create_task(_write(end.outbox, context))
        try:
            async for request in request_iterator:
                for count, frame in enumerate(request.frames, 1):
                    end.receive(frame)
                    # Who does not read is not listened to, and who says much lets others speak.
                    if end.outbox.crowded or count % BURST == 0:
                        await end.outbox.room()
            await end.finish()
            await writing
        finally:
            life.cancel()
            self._ends.discard(end)
            writing.cancel()
            await end.abandon()
            await asyncio.gather(writing, return_exceptions=True)


async def _write(
    outbox: SendQueue[pb.CarryResponse],
    context: "grpc.aio.ServicerContext[pb.CarryRequest, pb.CarryResponse]",
) -> None:
    await context.write(pb.CarryResponse())
    await outbox.run(context.write)


class _End:
    """One pipe, seen from the server."""

    def __init__(self, methods: Methods, entrance: AdmissionControl) -> None:
        self.outbox = SendQueue[pb.CarryResponse](pb.CarryResponse)
        self.answers: dict[int, Answer] = {}
        self._methods = methods
        self._entrance = entrance
        self._deadlines = Deadlines()
        self._last = 0

    def receive(self, frame: pb.CallFrame) -> None:
        """Do what the client says."""
        if frame.HasField("open"):
            if frame.call > self._last:  # a lower number may be that of another call
                self._last = frame.call
                self._answer(frame.call, frame.open)
        elif answer := self.answers.get(frame.call):
            if frame.HasField("credit"):
                answer.allow(frame.credit)
            elif frame.HasField("cancel"):
                answer.cancel()

    def leave(self) -> None:
        """Tell the client that it shall open no further calls here."""
        self.outbox.filling().leaving = True

    async def finish(self) -> None:
        """Wait for the answers that are under way, and for nothing new."""
        if self.answers:
            await asyncio.wait([answer.task for answer in self.answers.values()])
        self.outbox.close()

    async def abandon(self) -> None:
        """End the calls that nobody can hear the answers of any more."""
        tasks = [answer.task for answer in self.answers.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _answer(self, number: int, call: pb.Open) -> None:
        answer = Answer(number, call, self.outbox, self._deadlines, self._methods, self._entrance)
        self.answers[number] = answer
        answer.task.add_done_callback(lambda _: self.answers.pop(number))
