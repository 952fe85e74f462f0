"""A process of its own for heavy or dangerous work, seen from the service."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from threading import Event, Lock
from typing import TypeVar

import msgspec

from heddle_knowledge.workers.serving import REFUSAL

ReplyT = TypeVar("ReplyT")
# All that a worker sees of the environment: the service's secrets are none of its business.
_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "PYTHONPATH", "LD_LIBRARY_PATH")
_SET = {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
_STDERR = 2
_ATTEMPTS = 2
_NOT_LOADED = 1  # how Python ends if a module cannot be imported
IDLE_SECONDS = 180.0
"""The time for which a process stays after its last reply. It holds up to 0.5 GB of models."""


class WorkerFailedError(Exception):
    """The worker died twice in a row, or overran its time once."""


class WorkerClosedError(WorkerFailedError):
    """The service is ending, and the worker with it."""


class WorkerMissingError(WorkerFailedError):
    """The worker cannot be loaded: a library is missing or does not fit this machine."""


class WorkerProcess:
    """Runs `python -m MODULE`, sends it one request at a time, starts it again when it dies.

    The process starts with the first request, and ends when no request has come for a while. A
    thread of this process waits for its replies.
    """

    def __init__(
        self,
        module: str,
        *,
        seconds: float,
        refusal: type[Exception] = WorkerFailedError,
        environment: Mapping[str, str] | None = None,
        killed_with_request: bool = False,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        """Prepare, without starting anything.

        Args:
            module: The module that calls `serving.serve`.
            seconds: The time limit of one request, the process's start included.
            refusal: Raised with the text of a refusal.
            environment: Variables on top of the few that are passed on.
            killed_with_request: Whether a cancelled request ends the process, which would work on
                it for nothing. Only for a worker that has one request at a time.
            idle_seconds: How long the process stays after its last reply.
        """
        self._module = module
        self._seconds = seconds
        self._refusal = refusal
        self._environment = dict(environment or {})
        self._killed_with_request = killed_with_request
        self._idle_seconds = idle_seconds
        self._requests = 0
        self._idle: asyncio.TimerHandle | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=module)
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The process that runs now, if any."""
        return self._process.pid if self._process else None

    async def call(
        self,
        request: object,
        reply_type: type[ReplyT],
        *,
        failed: Exception | None = None,
        closed: Exception | None = None,
    ) -> ReplyT:
        """Send one request and return its reply. A death in between is met by one more attempt.

        Args:
            request: A message of msgspec.
            reply_type: What the reply is read as.
            failed: Raised instead of `WorkerFailedError`.
            closed: Raised instead of `WorkerClosedError`; by default `failed` is.

        Raises:
            WorkerFailedError: It died on both attempts, or took too long.
            WorkerClosedError: It was closed before it could answer.
            WorkerMissingError: It cannot be loaded.
            Exception: The worker refused the request; of the class `refusal`.
        """
        cancelled = Event()
        self._requests += 1
        self._forget_idle()
        try:
            if self._closed:
                raise WorkerClosedError(f"{self._module} was closed")
            loop = asyncio.get_running_loop()
            # After a cancellation the thread waits for the late reply and drops it.
            reply = await loop.run_in_executor(self._thread, self._exchange, request, cancelled)
        except asyncio.CancelledError:
            cancelled.set()
            if self._killed_with_request:
                self._kill()
            raise
        except WorkerFailedError as error:
            if isinstance(error, WorkerMissingError):
                raise
            replacement = (closed if isinstance(error, WorkerClosedError) else None) or failed
            if replacement is None:
                raise
            raise replacement from error
        finally:
            self._requests -= 1
            if not self._requests and not self._closed:
                loop = asyncio.get_running_loop()
                self._idle = loop.call_later(self._idle_seconds, self._end_idle)
        if reply[:1] == REFUSAL:
            raise self._refusal(reply[1:].decode())
        return msgspec.msgpack.decode(memoryview(reply)[1:], type=reply_type)

    async def aclose(self) -> None:
        """End the process. Requests that wait for it fail."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._forget_idle()
        self._kill()
        self._thread.submit(self._end)
        await asyncio.to_thread(self._thread.shutdown)

    def _forget_idle(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _end_idle(self) -> None:
        if not self._closed:
            # In its turn: the thread may still wait for the reply to a cancelled request.
            self._thread.submit(self._end)

    def _kill(self) -> None:
        with self._lock:
            if self._process is not None:
                self._process.kill()

    def _exchange(self, request: object, cancelled: Event) -> bytes:
        payload = msgspec.msgpack.encode(request)
        for _ in range(_ATTEMPTS):
            if cancelled.is_set():
                break
            connection = self._connection
            if connection is None or self._process is None or self._process.poll() is not None:
                connection = self._start()
            try:
                connection.send_bytes(payload)
                if connection.poll(self._seconds):
                    return connection.recv_bytes()
            except (EOFError, OSError):
                if self._end() == _NOT_LOADED:
                    raise WorkerMissingError(f"{self._module} cannot be loaded") from None
                continue
            self._end()
            raise WorkerFailedError(f"{self._module} took more than {self._seconds:g} s")
        raise WorkerFailedError(f"{self._module} died twice")

    def _start(self) -> Connection:
        self._end()
        own, other = Pipe()
        environment = {key: os.environ[key] for key in _PASSED_ON if key in os.environ}
        # -P: the working directory is no place to import from.
        command = [sys.executable, "-P", "-m", self._module, str(other.fileno())]
        with other, self._lock:
            if self._closed:
                own.close()
                raise WorkerClosedError(f"{self._module} was closed")
            # Not asyncio's or multiprocessing's way, which may fork: threads of gRPC and LanceDB
            # do not survive that. A session of its own: Ctrl-C is for the service, which ends it.
            self._process = subprocess.Popen(  # noqa: S603 - our own modules
                command,
                stdin=subprocess.DEVNULL,
                stdout=_STDERR,
                env=environment | _SET | self._environment,
                pass_fds=[other.fileno()],
                start_new_session=True,
            )
            self._connection = own
        return own

    def _end(self) -> int | None:
        """End the process, and return the exit code that it had if it ended by itself."""
        process, self._process = self._process, None
        connection, self._connection = self._connection, None
        if process is not None:
            process.kill()
            process.wait()
        if connection is not None:
            connection.close()
        return process.returncode if process is not None else None
