"""Replicas and clients as processes, and a name that DNS answers with the replicas of the moment.

The client runs in a mount namespace with a hosts file of its own, which the test writes.
"""

import asyncio
import os
import subprocess
import sys
from asyncio.subprocess import PIPE, Process
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from patience import until
from runtime.ports import free_port
from runtime.replicas.client import TASKS

TESTS = Path(__file__).parents[2]
NAME = "replicas.heddle.test"
KINDS = ("safe", "large", "unsafe", "stream")
# A process in a chroot may not make a user namespace, and root needs none.
OWN_MOUNTS = ("unshare", *(() if os.geteuid() == 0 else ("--map-root-user",)), "--mount")


@dataclass
class Calls:
    """The outcomes of a client's calls, in the order in which they ended."""

    outcomes: list[tuple[str, str]] = field(default_factory=list)
    """The kind of each call, and the process that answered or how the call failed."""

    log: Path = Path()
    """The file with the client's log."""

    async def read(self, client: Process) -> None:
        """Read what a client writes until it ends."""
        assert client.stdout is not None
        async for line in client.stdout:
            kind, _, outcome = line.decode().strip().partition(" ")
            self.outcomes.append((kind, outcome))

    def since(self, start: int, kind: str = "") -> Counter[str]:
        """Count the outcomes of calls that ended after the first `start` ones."""
        return Counter(outcome for each, outcome in self.outcomes[start:] if kind in ("", each))

    async def more(self, count: int = 60) -> int:
        """Wait until so many calls of each kind have ended from now on; return their beginning."""
        start = len(self.outcomes)
        await until(lambda: all(self.since(start, kind).total() >= count for kind in KINDS), 60)
        return start


@dataclass
class Deployment:
    """Replicas that listen on one port of addresses 127.0.0.N."""

    folder: Path
    port: int
    environment: dict[str, str]
    _stack: AsyncExitStack
    running: dict[int, Process] = field(default_factory=dict)
    """The processes, by the last number of their address."""

    @property
    def hosts(self) -> Path:
        """The hosts file of clients."""
        return self.folder / "hosts"

    async def start(self, number: int) -> str:
        """Start the replica at 127.0.0.`number`; return the number of its process."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "runtime.replicas.replica"),
            env={**self.environment, "HEDDLE_LISTEN": f"127.0.0.{number}:{self.port}"},
            stdout=PIPE,
        )
        self._stack.push_async_callback(_end, process)
        assert process.stdout is not None
        assert (await process.stdout.readline()).startswith(b"address ")
        self.running[number] = process
        return str(process.pid)

    async def kill(self, number: int) -> None:
        """Kill a replica, with a signal that it cannot handle."""
        await _end(self.running.pop(number))

    def name(self, *numbers: int) -> None:
        """Let the name stand for these replicas from now on."""
        lines = [f"127.0.0.{number} {NAME}\n" for number in numbers]
        # In place: the file is mounted in the clients' namespaces.
        self.hosts.write_text("".join(lines))

    async def client(self, address: str, tasks: int = TASKS) -> Calls:
        """Start a client of the service at `address`; return its calls."""
        mounting = f'mount --bind {self.hosts} /etc/hosts && exec "$@"'
        log = self.folder / "client.log"
        errors = self._stack.enter_context(log.open("wb"))
        client = await asyncio.create_subprocess_exec(
            *(*OWN_MOUNTS, "sh", "-c", mounting, "client"),
            *(sys.executable, "-m", "runtime.replicas.client", address, str(tasks)),
            env=self.environment,
            stdout=PIPE,
            stderr=errors,
        )
        self._stack.push_async_callback(_end, client)
        calls = Calls(log=log)
        reading = asyncio.create_task(calls.read(client))
        self._stack.callback(reading.cancel)
        return calls


@asynccontextmanager
async def deployment(folder: Path, **settings: str) -> AsyncIterator[Deployment]:
    """Yield a deployment without replicas, whose processes end with the block.

    Skip the test where no process can have a hosts file of its own.
    """
    probe = [*OWN_MOUNTS, "mount", "--bind", "/etc/hosts", "/etc/hosts"]
    ran = subprocess.run(probe, capture_output=True, text=True, check=False)  # noqa: ASYNC221, S603 - takes milliseconds
    if ran.returncode:
        pytest.skip(f"no mount namespace with /etc/hosts: {ran.stderr.strip()}")
    environment = {**os.environ, "PYTHONPATH": str(TESTS), **settings}
    async with AsyncExitStack() as stack:
        deployed = Deployment(folder, free_port(), environment, stack)
        deployed.name()
        yield deployed


async def _end(process: Process) -> None:
    if process.returncode is None:
        process.kill()
    await process.wait()
