"""A replica in a process of its own, whose responses name the process."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator

from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle_runtime.identity.call_metadata import Context
from heddle_runtime.settings.service import ServiceSettings
from heddle_runtime.telemetry import logs
from runtime.greeting import Greeter, greeting, say

MESSAGES = 10
_PROCESS = str(os.getpid())


class Replica(Greeter):
    """Answers with the number of its process: at once, and in streams of `MESSAGES` messages."""

    async def ListStrategies(
        self, request: pb.ListStrategiesRequest, context: Context
    ) -> pb.ListStrategiesResponse:
        return pb.ListStrategiesResponse(strategies=[pb.Strategy(name=_PROCESS)])

    async def RunWholeCompletion(
        self, request: pb.RunWholeCompletionRequest, context: Context
    ) -> pb.RunWholeCompletionResponse:
        return pb.RunWholeCompletionResponse(events=[pb.RunEvent(text_delta=_PROCESS)])

    async def RunCompletion(
        self, request: pb.RunCompletionRequest, context: Context
    ) -> AsyncIterator[pb.RunCompletionResponse]:
        for _ in range(MESSAGES):
            yield say(_PROCESS)
            await asyncio.sleep(0.01)


async def main() -> None:
    """Serve until killed."""
    logs.configure("replica", "ERROR")
    settings = ServiceSettings()
    async with greeting(Replica(), settings) as server:  # type: ignore[abstract] # it does not offer every method
        sys.stdout.write(f"address {server.address}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
