"""A greeter in a process of its own, which blocks its event loop on request."""

import asyncio
import os
import sys
import time

from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle_runtime.identity.call_metadata import Context
from heddle_runtime.rpc.multiplex.server import loading
from heddle_runtime.settings.service import ServiceSettings
from runtime.greeting import Greeter, greeting


class BlockingGreeter(Greeter):
    """Sleeps in the event loop for the seconds in the page token; says which process it is.

    `load 5` announces that a library is loaded, and sleeps when `begin` is called, too.
    """

    def __init__(self) -> None:
        super().__init__()
        self._both = asyncio.Barrier(2)

    async def ListStrategies(
        self, request: pb.ListStrategiesRequest, context: Context
    ) -> pb.ListStrategiesResponse:
        match request.page_token.split():
            case ["load", seconds]:
                async with loading():
                    await self._both.wait()
                    time.sleep(float(seconds))  # noqa: ASYNC251 - as the import of a large library
            case ["begin"]:
                await self._both.wait()
            case [seconds] if seconds.isdecimal():
                time.sleep(float(seconds))  # noqa: ASYNC251 - a fault to notice
            case _:
                pass
        response = await super().ListStrategies(pb.ListStrategiesRequest(), context)
        response.strategies.add(name=str(os.getpid()))
        return response


async def main() -> None:
    """Serve until killed, and print the address."""
    settings = ServiceSettings(drain_wait=0)
    async with greeting(BlockingGreeter(), settings) as server:  # type: ignore[abstract] # it does not offer every method
        sys.stdout.write(f"address {server.address}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
