"""Starting and ending the processes of the benchmark, by their ids and never by name."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import SystemRandom

REPOSITORY = Path(__file__).parents[2]
STOP_WITHIN = 15.0
"""Seconds; more than a Heddle service's own grace."""
_FIRST_PORT, _LAST_PORT = 20_000, 32_000
"""Below Linux's range of ephemeral ports, where any client may already sit."""


@dataclass(frozen=True, slots=True)
class Command:
    """A Python module to run."""

    module: str
    arguments: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    python: str = sys.executable
    """The interpreter, whose environment has the module."""


@dataclass(frozen=True, slots=True)
class Process:
    """A started command."""

    command: Command
    popen: subprocess.Popen[bytes]
    log: Path

    def complaint(self) -> str:
        """Return what the process said last."""
        said = self.log.read_text(errors="replace").splitlines()[-15:]
        return "\n".join([f"{self.command.module} ({self.popen.returncode}):", *said])


def free_ports(count: int) -> list[int]:
    """Return ports that nobody listens on."""
    ports: list[int] = []
    choice = SystemRandom()
    while len(ports) < count:
        port = choice.randrange(_FIRST_PORT, _LAST_PORT)
        with socket.socket() as probe:
            if port not in ports and probe.connect_ex(("127.0.0.1", port)):
                ports.append(port)
    return ports


@contextmanager
def started(commands: Sequence[Command], logs: Path) -> Iterator[list[Process]]:
    """Run `commands` until the block is left."""
    processes: list[Process] = []
    try:
        for command in commands:
            log = logs / f"{len(list(logs.iterdir())):02}-{command.module}.log"
            processes.append(Process(command, _start(command, log), log))
        yield processes
    finally:
        stop([process.popen for process in processes])


def stop(running: Sequence[subprocess.Popen[bytes]]) -> None:
    """End processes, gently at first."""
    # make and a terminal both pass a Ctrl-C on, and the second must not interrupt this.
    before = [
        (name, signal.signal(name, signal.SIG_IGN)) for name in (signal.SIGINT, signal.SIGTERM)
    ]
    for popen in running:
        popen.terminate()
    for popen in running:
        try:
            popen.wait(STOP_WITHIN)
        except subprocess.TimeoutExpired:
            popen.kill()
            popen.wait()
    for name, handler in before:
        signal.signal(name, handler)


def environment() -> dict[str, str]:
    """Return this process's environment without settings of a Heddle that the user runs."""
    return {name: value for name, value in os.environ.items() if not name.startswith("HEDDLE_")}


def _start(command: Command, log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as output:
        return subprocess.Popen(  # noqa: S603 - the modules are named in this package
            [command.python, "-m", command.module, *command.arguments],
            cwd=REPOSITORY,
            env=environment() | command.environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            # Of its own, so that a Ctrl-C reaches only the benchmark, which then ends the others.
            start_new_session=True,
        )
