"""The service's side of the process of a plugin."""

import asyncio
import itertools
import os
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import Context
from typing import Any

import structlog
from heddle_runtime.errors import ToolFailedError

from heddle_tools_service.workers import frames
from heddle_tools_service.workers.calls import CallInProcess, CallRequest
from heddle_tools_service.workers.control_groups import MAX_THREADS
from heddle_tools_service.workers.forking import Forked

_MAX_LINE_CHARS = 2_000
_MAX_LINES_PER_SECOND = 50
_CHUNK_BYTES = 65_536
_PAUSE_SECONDS = 0.01
"""Between chunks: a plugin that prints more waits, and takes no time of the service."""


async def log_output(descriptor: int, origin: str) -> None:
    """Log what a plugin prints until its process ends, at most 50 lines a second.

    Args:
        descriptor: Of the pipe, which is closed at the end.
        origin: The place of the plugin.
    """
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=_CHUNK_BYTES)
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb")
    )
    second, lines = 0, 0
    try:
        while data := await reader.read(_CHUNK_BYTES):
            for line in filter(str.strip, data.decode("utf-8", "replace").splitlines()):
                if int(loop.time()) != second:
                    _report_dropped(origin, lines)
                    second, lines = int(loop.time()), 0
                lines += 1
                if lines <= _MAX_LINES_PER_SECOND:
                    log.info("plugin prints", origin=origin, text=line[:_MAX_LINE_CHARS])
            await asyncio.sleep(_PAUSE_SECONDS)
    finally:
        _report_dropped(origin, lines)
        transport.close()


def _report_dropped(origin: str, lines: int) -> None:
    if dropped := max(0, lines - _MAX_LINES_PER_SECOND):
        log.warning("a plugin prints more than is logged", origin=origin, dropped_lines=dropped)


log = structlog.get_logger(__name__)
_CANCELLATION_SECONDS = 0.5
_FRAMES_AT_ONCE = 20
_MAX_STRAYS = 100_000  # messages for calls that have ended
_MAX_HELD_BYTES = 4 * frames.MAX_FRAME_BYTES
"""The size of arguments that a process has sent to capabilities, until these have answered."""
_WATCH_SECONDS = 0.25
_ENDED = "The process of the tool has ended. Try again."


class PluginProcess:
    """Sends calls to a plugin's process and receives what it sends."""

    def __init__(self, forked: Forked, origin: str, kill: Callable[[int], None]) -> None:
        """Take a new process.

        Args:
            forked: The process.
            origin: The place of the plugin.
            kill: Ends a process at once.
        """
        self._forked = forked
        self._origin = origin
        self._kill = kill
        self._calls: dict[int, CallInProcess] = {}
        self._numbers = itertools.count(1)
        self._tasks: set[asyncio.Task[None]] = set()
        self._writer: asyncio.StreamWriter | None = None
        self._loaded: asyncio.Future[frames.Loaded] = asyncio.get_running_loop().create_future()
        self._strays = 0
        self._held_bytes = 0
        self.is_retired = False
        """Whether it takes no further calls."""

    @property
    def is_alive(self) -> bool:
        """Whether the process is still running."""
        return self._writer is not None

    async def load(self, message: frames.Load) -> frames.Loaded:
        """Let the process load its plugin.

        Raises:
            ToolFailedError: It ends meanwhile.
        """
        reader, self._writer = await asyncio.open_connection(
            sock=self._forked.channel, limit=frames.MAX_FRAME_BYTES
        )
        self._start(self._receive(reader))
        self._start(log_output(self._forked.output, self._origin))
        self._start(self._watch_threads())
        self._send(message)
        return await self._loaded

    async def run(self, request: CallRequest, begin_seconds: float) -> frames.Ended | None:
        """Return the end of a call; None if the process does not begin it in `begin_seconds`.

        Raises:
            ToolFailedError: The process ends meanwhile.
        """
        number = next(self._numbers)
        self._calls[number] = call = CallInProcess(request)
        run = frames.Run(number, request.kind, request.message, request.seconds, request.caller)
        try:
            self._send(run)
            return await call.end() if await call.begins(begin_seconds) else None
        finally:
            if call.is_over:
                self._forget(number)
            else:
                self._send(frames.Cancel(number))
                loop = asyncio.get_running_loop()
                loop.call_later(_CANCELLATION_SECONDS, self._check_cancelled, number)

    def retire(self) -> None:
        """Take no further calls, and end the process after the last one."""
        self.is_retired = True
        if not self._calls:
            self.end()

    def end(self) -> None:
        """End the process at once. Its calls fail."""
        self.is_retired = True
        if self._writer is None:
            return
        writer, self._writer = self._writer, None
        self._kill(self._forked.process)
        writer.transport.abort()  # closing would wait until the ended process reads what is left
        error = ToolFailedError(_ENDED, diagnosis=f"{self._origin}: its process has ended")
        if not self._loaded.done():
            self._loaded.set_exception(error)
        for call in self._calls.values():
            call.fail(error)
            call.stop()
        self._calls.clear()

    async def closed(self) -> None:
        """Wait until nothing of the process is left."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _check_cancelled(self, number: int) -> None:
        """Retire a process that continues a cancelled call: the next call starts another."""
        if (call := self._calls.pop(number, None)) is not None:
            call.stop()
            log.warning("plugin ignores its cancellation", origin=self._origin)
            self.retire()

    def _forget(self, number: int) -> None:
        if (call := self._calls.pop(number, None)) is not None:
            call.stop()
        if self.is_retired:
            self.retire()

    async def _receive(self, reader: asyncio.StreamReader) -> None:
        try:
            for number in itertools.count(1):
                self._take(frames.decode_from_plugin(await frames.read_frame(reader)))
                if number % _FRAMES_AT_ONCE == 0:
                    await asyncio.sleep(0)  # other calls do not wait for a plugin that sends much
        except (EOFError, OSError):
            pass
        except Exception as error:  # noqa: BLE001 - a plugin may send anything
            log.warning("plugin breaks the protocol", origin=self._origin, problem=repr(error))
        finally:
            self.end()

    async def _watch_threads(self) -> None:
        """End a process with too many threads: without control groups nothing else limits them."""
        while self.is_alive:
            try:
                # Each thread is a folder in this one.
                threads = os.stat(f"/proc/{self._forked.process}/task").st_nlink - 2  # noqa: PTH116 - no path is kept
            except OSError:  # it has ended, or this is no Linux
                return
            if threads > MAX_THREADS:
                log.warning("plugin starts too many threads", origin=self._origin, threads=threads)
                self.end()
            await asyncio.sleep(_WATCH_SECONDS)

    def _take(self, message: frames.FromPlugin) -> None:
        match message:
            case frames.Loaded():
                if not self._loaded.done():
                    self._loaded.set_result(message)
            case frames.Called():
                if (call := self._call(message.run)) is not None:
                    call.count()
                    call.start(self._carry_out(call, message))
            case _:
                if (call := self._call(message.id)) is not None:
                    call.take(message)
                    if isinstance(message, frames.Ended) and message.is_last:
                        log.warning("plugin has used up its memory", origin=self._origin)
                        self.is_retired = True
                    if call.is_over:
                        self._forget(message.id)

    def _call(self, number: int) -> CallInProcess | None:
        if number not in self._calls:
            self._strays += 1
            if self._strays > _MAX_STRAYS:
                message = f"a plugin sends more than {_MAX_STRAYS:,} messages for no call"
                raise ValueError(message)
        return self._calls.get(number)

    async def _carry_out(self, call: CallInProcess, called: frames.Called) -> None:
        """Call the capability, unless the arguments of waiting calls take too much memory."""
        size = len(called.arguments)
        if self._held_bytes + size > _MAX_HELD_BYTES:
            message = f"The tool sends more than {_MAX_HELD_BYTES:,} bytes at once."
            await self._answer(frames.Returned(called.id, error=frames.CapabilityError(message)))
            return
        self._held_bytes += size
        try:
            await call.request.capabilities.answer(called, self._answer)
        finally:
            self._held_bytes -= size

    async def _answer(self, returned: frames.Returned) -> None:
        try:
            self._send(returned)
        except ToolFailedError as error:  # it is too large
            problem = frames.CapabilityError(error.message)
            self._send(frames.Returned(returned.id, error=problem))
        if self._writer is not None:
            with suppress(ConnectionError):  # the process has ended
                await self._writer.drain()

    def _send(self, message: frames.ToPlugin) -> None:
        if self._writer is not None:
            self._writer.write(frames.frame(message))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        # In a context without a caller: the process outlives the call that starts it.
        task = asyncio.get_running_loop().create_task(work, context=Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
