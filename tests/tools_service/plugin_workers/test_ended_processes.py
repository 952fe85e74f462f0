"""The connection to a plugin's process closes with the process."""

import asyncio
import os
import socket
from contextlib import closing

import pytest
from heddle_runtime.errors import ToolFailedError
from heddle_tools_service.workers import frames
from heddle_tools_service.workers.forking import Forked
from heddle_tools_service.workers.process import PluginProcess
from patience import until

MORE_THAN_A_CONNECTION_BUFFERS = 4_000_000


async def test_the_connection_closes_although_the_process_does_not_read() -> None:
    own, its = socket.socketpair()
    reading, writing = os.pipe()
    process = PluginProcess(Forked(os.getpid(), own, reading), "bad.py", kill=lambda _: None)
    with closing(its), os.fdopen(writing):
        message = frames.Load(
            frames.PluginSource("bad.py", "bad"),
            disabled=["x" * MORE_THAN_A_CONNECTION_BUFFERS],
            threads=1,
            timeout=1,
            capabilities=[],
            http_seconds=1,
        )
        loading = asyncio.create_task(process.load(message))
        await until(lambda: process.is_alive)
        process.end()
        with pytest.raises(ToolFailedError):
            await loading
        await until(lambda: own.fileno() == -1)
    await process.closed()
