"""A client in a process of its own, which calls replicas until it is killed.

It writes a line for each call: its kind, then the process that answered it or how it failed.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable

import grpc
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.orchestrator.v1 import orchestrator_pb2_grpc as pb_grpc
from heddle_runtime.identity.call_metadata import new_call_options
from heddle_runtime.rpc.client import channel
from heddle_runtime.rpc.multiplex.channel import MAX_REQUEST_BYTES
from heddle_runtime.telemetry import logs
from runtime.greeting import CONTRACT, ask, ask_whole
from runtime.replicas.replica import MESSAGES

TASKS = 3
"""The calls of each kind that are open at once, if a test does not say otherwise."""
_SECONDS = 20.0
_LARGE = "x" * (MAX_REQUEST_BYTES + 1)


async def main(address: str, tasks: int) -> None:
    """Call the service at `address`, with so many calls of each kind at once."""
    logs.configure("client", "WARNING")
    async with channel(address, CONTRACT) as to:
        stub = pb_grpc.OrchestratorServiceStub(to)

        async def safe(token: str = "") -> str:
            request = pb.ListStrategiesRequest(page_token=token)
            response = await stub.ListStrategies(request, **new_call_options(_SECONDS))
            return response.strategies[0].name

        async def large() -> str:
            return await safe(_LARGE)

        async def unsafe() -> str:
            options = new_call_options(_SECONDS)
            response = await stub.RunWholeCompletion(ask_whole("who"), **options)
            return response.events[0].text_delta

        async def stream() -> str:
            responses = stub.RunCompletion(ask("who"), **new_call_options(_SECONDS))
            texts = [response.events[0].text_delta async for response in responses]
            return texts[0] if texts == texts[:1] * MESSAGES else f"torn: {texts}"

        kinds = {"safe": safe, "large": large, "unsafe": unsafe, "stream": stream}
        async with asyncio.TaskGroup() as group:
            for kind, call in kinds.items():
                for _ in range(tasks):
                    group.create_task(_repeat(kind, call))


async def _repeat(kind: str, call: Callable[[], Awaitable[str]]) -> None:
    while True:
        try:
            outcome = await call()
        except grpc.aio.AioRpcError as error:
            outcome = error.code().name
        except Exception as error:  # noqa: BLE001 - what the test must see
            outcome = f"untyped: {error!r}"
        sys.stdout.write(f"{kind} {outcome}\n")
        sys.stdout.flush()
        await asyncio.sleep(0.03)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
