"""A child process whose pipes belong to the event loop.

Not `asyncio.create_subprocess_exec`: uvloop forks for it, and threads of gRPC and LanceDB do not
survive a fork. `subprocess.Popen` uses vfork, which they do not notice.
"""

import asyncio
import subprocess
import threading
from asyncio.streams import FlowControlMixin
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, cast


@dataclass(frozen=True, slots=True)
class PipedProcess:
    """A child process, its standard input and its standard output."""

    popen: "subprocess.Popen[bytes]"
    stdin: asyncio.StreamWriter
    stdout: asyncio.StreamReader

    @property
    def pid(self) -> int:
        """The process's id."""
        return self.popen.pid

    async def bury(self) -> None:
        """Kill the process and wait for its end. Does nothing to one that has ended."""
        self.popen.kill()
        # A thread of its own, which no cancellation and no end of the loop stops: no zombie stays.
        ending = threading.Thread(target=self.popen.wait)
        ending.start()
        self.stdin.close()
        await self.stdout.read()  # an unread reply would keep the pipe, and us, waiting
        await asyncio.to_thread(ending.join)


async def start(command: Sequence[str], environment: Mapping[str, str]) -> PipedProcess:
    """Start a process in a session of its own: Ctrl-C is for the service, which ends it."""
    popen = subprocess.Popen(  # noqa: S603, ASYNC220 - our own modules; vfork returns at once
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    )
    try:
        return await _connected(popen)
    except BaseException:  # cancelled in between: nobody else knows the process
        popen.kill()
        popen.wait()
        raise


async def _connected(popen: "subprocess.Popen[bytes]") -> PipedProcess:
    """Hand both pipes to the event loop, which closes one that it cannot take."""
    loop = asyncio.get_running_loop()
    stdout = asyncio.StreamReader()
    try:
        reading, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(stdout), popen.stdout
        )
    except BaseException:
        cast("IO[bytes]", popen.stdin).close()
        raise
    try:
        writing, flow = await loop.connect_write_pipe(FlowControlMixin, popen.stdin)
    except BaseException:
        reading.close()
        raise
    return PipedProcess(popen, asyncio.StreamWriter(writing, flow, None, loop), stdout)
