"""Connections to LAMB that wait for the next request."""

import asyncio
from collections import deque

from heddle_gateway.lamb.proxy.connection import LambConnection
from heddle_gateway.lamb.proxy.failures import UnreachableError
from heddle_gateway.lamb.proxy.origin import Origin

CONNECT_SECONDS = 5.0
IDLE_SECONDS = 3.0
"""Seconds for which a connection waits. LAMB's server closes idle ones after five."""


class Pool:
    """Opens connections to LAMB and keeps those that can serve another request."""

    def __init__(self, origin: Origin, seconds: float) -> None:
        """Prepare.

        Args:
            origin: Where LAMB is.
            seconds: How long LAMB may be silent.
        """
        self._origin = origin
        self._seconds = seconds
        self._idle: deque[LambConnection] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False

    def waiting(self) -> LambConnection | None:
        """Return a connection that has served a request before, None if none waits."""
        while self._idle:
            connection = self._idle.pop()
            if connection.usable:
                connection.reused = True
                return connection
        return None

    async def open(self) -> LambConnection:
        """Return a new connection.

        Raises:
            UnreachableError: LAMB does not accept it.
        """
        origin = self._origin
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                _, connection = await loop.create_connection(
                    lambda: LambConnection(self._seconds),
                    origin.host,
                    origin.port,
                    ssl=origin.tls,
                )
        except (OSError, TimeoutError) as error:
            message = f"{origin.host}:{origin.port} accepts no connection: {error!r}"
            raise UnreachableError(message) from error
        return connection

    def give_back(self, connection: LambConnection) -> None:
        """Keep a connection for the next request, or close it."""
        if self._closed or not connection.clean:
            connection.close()
            return
        loop = asyncio.get_running_loop()
        connection.idle_since = loop.time()
        self._idle.append(connection)
        if self._timer is None:
            self._timer = loop.call_later(IDLE_SECONDS, self._close_idle)

    def close(self) -> None:
        """Close the connections that wait, and further ones after their requests."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._idle:
            self._idle.pop().close()

    def _close_idle(self) -> None:
        """Close the connections that have waited for long."""
        self._timer = None
        loop = asyncio.get_running_loop()
        latest = loop.time() - IDLE_SECONDS
        while self._idle and self._idle[0].idle_since <= latest:
            self._idle.popleft().close()
        if self._idle:
            seconds = self._idle[0].idle_since - latest
            self._timer = loop.call_later(seconds, self._close_idle)
