"""A process of its own for heavy or dangerous work, seen from the service."""

import asyncio
import os
import sys
from collections.abc import Mapping
from itertools import count

from heddle_knowledge.workers.frames import HEADER, frame
from heddle_knowledge.workers.pipes import PipedProcess, start

# All that a worker sees of the environment: the service's secrets are none of its business.
_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "PYTHONPATH", "LD_LIBRARY_PATH")
_ATTEMPTS = 2


class WorkerFailedError(Exception):
    """The worker died twice in a row, or overran its time once."""


class WorkerClosedError(WorkerFailedError):
    """The service is ending, and the worker with it."""


class WorkerProcess:
    """Runs `python -m MODULE`, sends it one request at a time, starts it again when it dies.

    The process starts with the first request. It belongs to the event loop of that request.
    """

    def __init__(
        self, module: str, *, seconds: float, environment: Mapping[str, str] | None = None
    ) -> None:
        """Prepare, without starting anything.

        Args:
            module: The module that calls `frames.serve`.
            seconds: How long one request may take, the process's start included.
            environment: Variables on top of the few that are passed on.
        """
        self._module = module
        self._seconds = seconds
        self._environment = dict(environment or {})
        self._turn = asyncio.Lock()
        self._numbers = count(1)
        self._process: PipedProcess | None = None
        self._reader: asyncio.Task[None] | None = None
        self._pending: dict[int, asyncio.Future[bytes]] = {}
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The process that runs now, if any."""
        return self._process.pid if self._process else None

    async def call(self, payload: bytes) -> bytes:
        """Send one request and return its reply. A death in between is met by one more attempt.

        Raises:
            WorkerFailedError: It died on both attempts, or took too long.
            WorkerClosedError: It was closed before it could answer.
        """
        async with self._turn:
            for _ in range(_ATTEMPTS):
                if self._closed:
                    raise WorkerClosedError(f"{self._module} was closed")
                try:
                    async with asyncio.timeout(self._seconds):
                        return await self._ask(payload)
                except TimeoutError as error:
                    await self._stop()
                    raise WorkerFailedError(
                        f"{self._module} took more than {self._seconds:g} s"
                    ) from error
                except ConnectionError:
                    await self._stop()
            raise WorkerFailedError(f"{self._module} died twice")

    async def aclose(self) -> None:
        """End the process. Requests that wait for it fail."""
        self._closed = True
        await self._stop()
        async with self._turn:  # a request that was just starting the process
            await self._stop()

    async def _ask(self, payload: bytes) -> bytes:
        process = self._process or await self._start()
        number = next(self._numbers) & 0xFFFFFFFF
        reply: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._pending[number] = reply
        try:
            process.stdin.write(frame(number, payload))
            await process.stdin.drain()
            return await reply
        finally:
            # After a cancellation the worker's late answer finds nobody and is dropped.
            self._pending.pop(number, None)

    async def _start(self) -> PipedProcess:
        if self._reader is not None:
            await asyncio.wait([self._reader])  # the last process is still being buried
        environment = {key: os.environ[key] for key in _PASSED_ON if key in os.environ}
        environment |= {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
        # -P: the working directory is no place to import from.
        command = [sys.executable, "-P", "-m", self._module]
        self._process = await start(command, environment | self._environment)
        self._reader = asyncio.create_task(self._read(self._process))
        await asyncio.sleep(0)  # a task that is cancelled before it began would bury nothing
        if self._closed:
            raise ConnectionError("closed while it started")
        return self._process

    async def _read(self, process: PipedProcess) -> None:
        """Hand every reply to the request that waits for it, until the process ends."""
        try:
            while True:
                length, number = HEADER.unpack(await process.stdout.readexactly(HEADER.size))
                payload = await process.stdout.readexactly(length)
                reply = self._pending.pop(number, None)
                if reply and not reply.done():
                    reply.set_result(payload)
        except (asyncio.IncompleteReadError, ConnectionError):
            # A worker that died between two requests is started afresh by the next one.
            if self._process is process:
                self._process = None
        finally:
            for reply in self._pending.values():
                if not reply.done():
                    reply.set_exception(ConnectionError("the worker ended"))
            await process.bury()

    async def _stop(self) -> None:
        self._process, reader = None, self._reader
        self._reader = None
        if reader is not None:
            reader.cancel()
            await asyncio.wait([reader])
