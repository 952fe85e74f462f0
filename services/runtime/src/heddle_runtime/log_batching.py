"""Log lines on their way out: those of one turn of the event loop are written together.

A line written by itself for each request would wake whoever reads the log for each request, which
costs more than making the line.
"""

import asyncio
import atexit
import logging
import threading
from collections import deque
from typing import BinaryIO


class LogLines:
    """Writes lines in their order. Has the methods of a logger that structlog calls.

    What is no error waits until the loop has done what it is at; where no loop runs, nothing
    waits. A process that is killed in that moment takes the lines of the moment with it.
    """

    def __init__(self, output: BinaryIO) -> None:
        self._output = output
        self._waiting: deque[bytes] = deque()
        self._asked: asyncio.AbstractEventLoop | None = None  # to flush
        self._writing = threading.Lock()
        atexit.register(self.flush)

    def info(self, line: bytes) -> None:
        """Write a line soon."""
        self._waiting.append(line)
        asked = self._asked
        if asked is not None and asked.is_running():
            return  # it writes this line with the others
        try:
            loop = self._asked = asyncio.get_running_loop()
        except RuntimeError:
            self.flush()
        else:
            loop.call_soon(self.flush)

    debug = warning = info

    def error(self, line: bytes) -> None:
        """Write a line now: nobody knows what comes after it."""
        self._waiting.append(line)
        self.flush()

    critical = exception = error

    def flush(self) -> None:
        """Write what waits."""
        self._asked = None
        with self._writing:
            lines = [self._waiting.popleft() for _ in range(len(self._waiting))]
            if lines:
                self._output.write(b"\n".join([*lines, b""]))
                self._output.flush()


class LibraryHandler(logging.Handler):
    """Hands on what libraries log."""

    def __init__(self, lines: LogLines, formatter: logging.Formatter) -> None:
        super().__init__()
        self._lines = lines
        self.setFormatter(formatter)

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record as a line."""
        try:
            line = self.format(record).encode(errors="backslashreplace")
        except Exception:  # noqa: BLE001 - as every handler does: a log must not fail its user
            self.handleError(record)
            return
        write = self._lines.error if record.levelno >= logging.ERROR else self._lines.info
        write(line)
