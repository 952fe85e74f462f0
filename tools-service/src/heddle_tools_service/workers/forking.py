"""Starts and ends the processes of plugins with the help of the fork server."""

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from heddle_tools_service.workers import frames
from heddle_tools_service.workers.control_groups import ControlGroups, own_trees

_ENVIRONMENT = ("LANG", "LC_ALL", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR")
"""The variables that processes of plugins inherit. All others may be secrets."""
# Each thread would reserve 64 MiB, and the limit of memory counts what is reserved.
_FORKING = {"MALLOC_ARENA_MAX": "2"}
_SECONDS = 20.0
_SECONDS_TO_END = 1.0


@dataclass(frozen=True, slots=True)
class Forked:
    """A new process."""

    process: int
    channel: socket.socket
    output: int
    """The descriptor from which standard output and standard error are read."""


class Forks:
    """The fork server. It starts with the first plugin, and again when it has ended."""

    def __init__(self, memory_bytes: int) -> None:
        self._memory_bytes = memory_bytes
        self.groups = ControlGroups(own_trees(), memory_bytes)
        self._lock = asyncio.Lock()  # an answer of the fork server does not name its request
        self._requests: socket.socket | None = None
        self._server: subprocess.Popen[bytes] | None = None

    async def fork(self, readable: Sequence[Path], environment: Mapping[str, str]) -> Forked:
        """Start a process.

        Args:
            readable: The folders that it may read, beside Python's libraries.
            environment: Its environment variables, beside those of all plugins.

        Raises:
            OSError: It does not start.
        """
        request = _request(readable, self._memory_bytes, environment)
        own, its = socket.socketpair()
        reading, writing = os.pipe()
        try:
            async with self._lock:
                requests = await self._started()
                answer = await asyncio.to_thread(_ask, requests, request, [its.fileno(), writing])
        except BaseException:
            own.close()
            os.close(reading)
            raise
        finally:
            its.close()
            os.close(writing)
        process = int(answer["process"])
        self.groups.limit(process)  # the process waits for a message before it loads the plugin
        return Forked(process, own, reading)

    def kill(self, process: int) -> None:
        """End a process at once. One that has ended already is no error."""
        if self._requests is not None:
            with suppress(OSError):  # the fork server has ended, and with it its processes
                self._requests.send(json.dumps({"kill": process}).encode())
        loop = asyncio.get_running_loop()
        loop.call_later(_SECONDS_TO_END, self.groups.forget, process)

    async def close(self) -> None:
        """End the fork server, and with it the processes that it has forked."""
        if self._requests is not None:
            self._requests.close()
            self._requests = None
        if self._server is not None:
            await asyncio.to_thread(self._server.wait)
        await self.groups.close()

    async def _started(self) -> socket.socket:
        if self._requests is not None and self._server and self._server.poll() is None:
            return self._requests
        own, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        own.settimeout(_SECONDS)
        environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        # Not with asyncio: uvloop forks, and gRPC logs each fork of a process that uses it.
        self._server = subprocess.Popen(  # noqa: ASYNC220, S603 - a start takes a millisecond, of our own program
            [sys.executable, "-I", "-c", _MAIN, json.dumps(_library_folders())],
            stdin=its.fileno(),
            env=_FORKING | environment,
            start_new_session=True,
        )
        its.close()
        self._requests = own
        return own


_MAIN = (
    "import json, sys; sys.path[:] = json.loads(sys.argv.pop()); "
    "from heddle_tools_service.plugin_process.fork_server import main; main()"
)


@asynccontextmanager
async def forks(memory_bytes: int) -> AsyncGenerator[Forks]:
    """Yield a starter of processes, and end its processes on leaving.

    Args:
        memory_bytes: The memory that each of them may allocate.
    """
    started = Forks(memory_bytes)
    try:
        yield started
    finally:
        await started.close()


def _library_folders() -> list[str]:
    """Return the folders of Python's modules, which plugins may read.

    `python -m` adds the current folder, which may contain the data of the service.
    """
    current = os.path.realpath(Path.cwd())
    return [each for each in sys.path if os.path.realpath(each) != current]


def _request(readable: Sequence[Path], memory_bytes: int, environment: Mapping[str, str]) -> bytes:
    fields = {
        "readable": [str(each.resolve()) for each in readable],
        "memory_bytes": memory_bytes,
        "environment": dict(environment),
    }
    request = json.dumps(fields).encode()
    if len(request) > frames.MAX_FORK_REQUEST_BYTES:
        message = (
            f"The environment of a plugin has {len(request):,} bytes; at most "
            f"{frames.MAX_FORK_REQUEST_BYTES:,} are possible."
        )
        raise OSError(message)
    return request


def _ask(requests: socket.socket, request: bytes, descriptors: list[int]) -> dict[str, int]:
    socket.send_fds(requests, [request], descriptors)
    answer = requests.recv(frames.MAX_FORK_REQUEST_BYTES)
    if not answer:
        raise ChildProcessError("The process that starts plugins has ended.")
    return dict(json.loads(answer))
