"""Logs what plugins print."""

import asyncio
import os

import structlog

log = structlog.get_logger(__name__)
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
