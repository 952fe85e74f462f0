"""Records counted usage in the usage service, in the background."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import structlog
from heddle.usage.v1 import usage_pb2 as pb
from heddle.usage.v1.usage_pb2_grpc import UsageServiceAsyncStub
from heddle_runtime.errors import HeddleError, InvalidRequestError
from heddle_runtime.identity.service_credentials import ServiceCredentials
from heddle_runtime.serving.background import in_background

from heddle_orchestrator.metering.meter import MAX_BATCH, MAX_SETTLED, Meter

log = structlog.get_logger(__name__)


@asynccontextmanager
async def flushing(flusher: "Flusher", seconds: float) -> AsyncGenerator[None]:
    """Record counts every `seconds` seconds, and at the end of the block."""
    try:
        async with in_background(flusher.run(seconds)):
            yield
    finally:
        await flusher.flush(everything=True)


class Flusher:
    """Sends batches, and repeats a failed one."""

    def __init__(
        self, service: UsageServiceAsyncStub, meter: Meter, credentials: ServiceCredentials
    ) -> None:
        self._service = service
        self._meter = meter
        self._credentials = credentials
        self._failing = False
        self._sending = asyncio.Lock()  # the meter has one batch at a time

    async def run(self, seconds: float) -> None:
        """Send batches until cancelled."""
        while True:
            await asyncio.sleep(seconds)
            try:
                await self.flush()
            except Exception:  # nothing awaits this task: an error must not end it
                log.exception("usage not recorded, will be retried")

    async def flush(self, *, everything: bool = False) -> None:
        """Send all counts, until a batch fails.

        Args:
            everything: Whether counts that arrive meanwhile are sent too.
        """
        async with self._sending:
            await self._flush(everything=everything)

    async def _flush(self, *, everything: bool) -> None:
        more = True
        while more and ((entries := self._meter.batch()) or self._meter.settled_in_batch):
            settled = self._meter.settled_in_batch
            more = everything or len(entries) == MAX_BATCH or len(settled) == MAX_SETTLED
            request = pb.RecordUsageRequest(
                recorder=self._meter.recorder, entries=entries, settled_reservations=settled
            )
            try:
                await self._credentials.call(self._service.RecordUsage, request)
            except InvalidRequestError as error:
                # Retrying would fail again and block all later batches.
                problems = [f"{v.field}: {v.description}" for v in error.violations]
                log.error("usage lost: rejected", entries=len(entries), problems=problems)  # noqa: TRY400 - the problems say more than a traceback
            except HeddleError as error:
                self._report(error.message)
                return
            self._meter.recorded()
        if self._failing:
            log.info("usage recorded again")
            self._failing = False

    def _report(self, cause: str) -> None:
        if not self._failing:
            log.warning("usage not recorded, will be retried", cause=cause)
        self._failing = True
