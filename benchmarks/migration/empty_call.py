"""A gRPC call that does nothing: what two Python processes pay before any work.

Run as a module it is the server, on the address that it is given.
"""

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import grpc.aio
import uvloop

from benchmarks.gateway.processes import Command, free_ports, started
from benchmarks.migration.bare import Read

EMPTY = "empty gRPC call"
_METHOD = "/benchmark.Empty/Call"
_READY_WITHIN = 20.0


@asynccontextmanager
async def empty_call(folder: Path) -> AsyncGenerator[Read]:
    """Yield a call of the server, which runs as long: plain `grpc.aio`, bytes there and back."""
    address = f"127.0.0.1:{free_ports(1)[0]}"
    logs = folder / "empty-call"
    logs.mkdir(exist_ok=True)
    with started([Command("benchmarks.migration.empty_call", (address,))], logs):
        async with grpc.aio.insecure_channel(address) as channel:
            await asyncio.wait_for(channel.channel_ready(), _READY_WITHIN)
            call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(_METHOD)

            async def read(identifier: int) -> object:
                return await call(b"%d" % identifier)

            yield read


async def _serve(address: str) -> None:
    server = grpc.aio.server()
    service, method = _METHOD.strip("/").split("/")
    handlers: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {
        method: grpc.unary_unary_rpc_method_handler(_same)
    }
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(service, handlers)])
    server.add_insecure_port(address)
    await server.start()
    await server.wait_for_termination()


async def _same(request: bytes, _: object) -> bytes:
    return request


if __name__ == "__main__":
    uvloop.run(_serve(sys.argv[1]))
