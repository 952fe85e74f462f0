"""Services on Unix sockets: who can connect, and what a start does with a socket that exists."""

import asyncio
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.orchestrator.v1 import orchestrator_pb2_grpc as pb_grpc
from heddle_runtime.identity.call_metadata import new_call_options
from heddle_runtime.rpc.client import channel
from heddle_runtime.serving.health import healthy
from heddle_runtime.settings.service import ServiceSettings
from runtime.greeting import CONTRACT, Greeter, greeting


@pytest.fixture
def folder() -> Iterator[Path]:
    with TemporaryDirectory() as short:  # a socket's path has at most 107 characters
        yield Path(short) / "new"


def settings(path: Path) -> ServiceSettings:
    return ServiceSettings(drain_wait=0, listen=f"unix:{path}")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def greeter() -> Greeter:
    return Greeter()  # type: ignore[abstract] # it does not offer every method


async def test_a_socket_serves_its_user_only(folder: Path) -> None:
    path = folder / "a.sock"
    async with (
        greeting(greeter(), settings(path)) as server,
        channel(server.address, CONTRACT) as to,
    ):
        await to.channel_ready()
        stub = pb_grpc.OrchestratorServiceStub(to)
        response = await stub.ListStrategies(pb.ListStrategiesRequest(), **new_call_options(5))

        assert response.strategies
        assert mode(path) == 0o600
        assert mode(folder) == 0o700
        assert await asyncio.to_thread(healthy, server.address)


async def test_the_socket_of_a_running_process_stays(folder: Path) -> None:
    path = folder / "a.sock"
    async with greeting(first := greeter(), settings(path)) as server:
        with pytest.raises(OSError, match="a running process listens there"):
            async with greeting(greeter(), settings(path)):
                pass
        async with channel(server.address, CONTRACT) as to:
            await pb_grpc.OrchestratorServiceStub(to).ListStrategies(
                pb.ListStrategiesRequest(), **new_call_options(5)
            )

    assert len(first.asked) == 1


async def test_the_socket_of_a_dead_process_is_replaced(folder: Path) -> None:
    path = folder.parent / "a.sock"
    program = (
        "import os, signal, socket, sys\n"
        "socket.socket(socket.AF_UNIX).bind(sys.argv[1])\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    ended = subprocess.run([sys.executable, "-c", program, str(path)], check=False)  # noqa: S603, ASYNC221 - our own program, which ends at once
    assert ended.returncode == -signal.SIGKILL
    assert path.is_socket()
    async with greeting(greeter(), settings(path)) as server:
        assert await asyncio.to_thread(healthy, server.address)


async def test_a_file_that_is_no_socket_is_not_removed(folder: Path) -> None:
    path = folder.parent / "notes"
    path.write_text("mine")
    with pytest.raises(OSError, match="is no socket"):
        async with greeting(greeter(), settings(path)):
            pass

    assert path.read_text() == "mine"
