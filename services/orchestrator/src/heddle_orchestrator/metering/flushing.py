"""Telling the usage service what was counted, in the background."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import grpc
import structlog
from heddle.usage.v1 import usage_pb2 as pb
from heddle_runtime.call_metadata import new_call_options
from heddle_runtime.errors import InvalidRequestError, from_rpc
from heddle_runtime.service_credentials import ServiceCredentials

from heddle_orchestrator.metering.meter import LARGEST_BATCH, Meter

if TYPE_CHECKING:
    from heddle.usage.v1.usage_pb2_grpc import UsageServiceAsyncStub

log = structlog.get_logger(__name__)
_TIMEOUT = 5.0


@asynccontextmanager
async def flushing(
    service: "UsageServiceAsyncStub", meter: Meter, acting: ServiceCredentials, seconds: float
) -> AsyncGenerator[None]:
    """Record what `meter` counts every so many seconds, and what is left when the block is."""
    flusher = _Flusher(service, meter, acting)
    task = asyncio.create_task(flusher.run(seconds))
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        await flusher.flush(everything=True)


class _Flusher:
    """Sends batches, and a failed one again."""

    def __init__(
        self, service: "UsageServiceAsyncStub", meter: Meter, acting: ServiceCredentials
    ) -> None:
        self._service = service
        self._meter = meter
        self._acting = acting
        self._failing = False

    async def run(self, seconds: float) -> None:
        """Send what there is, again and again."""
        while True:
            await asyncio.sleep(seconds)
            try:
                await self.flush()
            except Exception:  # nobody waits for this task: it must not end unnoticed
                log.exception("usage cannot be recorded now; it is kept")

    async def flush(self, *, everything: bool = False) -> None:
        """Send all that there is, until something fails.

        Unless `everything` is asked for, what is counted meanwhile can wait.
        """
        more = True
        while more and (entries := self._meter.batch()):
            more = everything or len(entries) == LARGEST_BATCH
            request = pb.RecordUsageRequest(recorder=self._meter.recorder, entries=entries)
            try:
                with self._acting.as_service():
                    await self._service.RecordUsage(request, **new_call_options(_TIMEOUT))
            except grpc.aio.AioRpcError as failure:
                error = from_rpc(failure)
                if not isinstance(error, InvalidRequestError):
                    self._tell(error.message)
                    return
                # It would be refused for ever, and everything behind it would wait.
                wrong = [f"{v.field}: {v.description}" for v in error.violations]
                log.error("usage is lost: it was refused", entries=len(entries), problems=wrong)  # noqa: TRY400 - what is wrong is told
            self._meter.recorded()
        if self._failing:
            log.info("usage is recorded again")
            self._failing = False

    def _tell(self, cause: str) -> None:
        if not self._failing:
            log.warning("usage cannot be recorded now; it is kept", cause=cause)
        self._failing = True
