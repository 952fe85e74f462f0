"""A way to a server that can be cut, as a phone leaves its network."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class CutLine:
    """Passes bytes on between a browser and a server until it is cut."""

    def __init__(self, port: int) -> None:
        self.port = 0
        self._target = port
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_cut = False
        self._loop = asyncio.new_event_loop()

    def cut(self) -> None:
        """End all connections, and accept none."""
        self._is_cut = True
        self._loop.call_soon_threadsafe(self._abort)

    def mend(self) -> None:
        """Accept connections again."""
        self._is_cut = False

    @contextmanager
    def running(self) -> Iterator["CutLine"]:
        """Serve on a free port."""
        thread = threading.Thread(target=self._loop.run_forever)
        thread.start()
        start = asyncio.start_server(self._serve, "127.0.0.1", 0)
        server = asyncio.run_coroutine_threadsafe(start, self._loop).result(10)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            self._is_cut = True
            server.close()
            asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join()
            self._loop.close()

    def _abort(self) -> None:
        for writer in self._open:
            writer.transport.abort()

    async def _end(self) -> None:
        self._abort()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        if self._is_cut:
            writer.transport.abort()
            return
        server, out = await asyncio.open_connection("127.0.0.1", self._target)
        pair = {writer, out}
        self._open |= pair
        try:
            await asyncio.gather(_copy(reader, out), _copy(server, writer))
        finally:
            self._open -= pair


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    writer.close()
