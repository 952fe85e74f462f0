"""Connections over plain HTTP that wait for their next request."""

import asyncio
from collections import defaultdict
from collections.abc import Callable

from heddle_runtime.deadlines import Deadlines
from heddle_runtime.egress import Egress

from heddle_connector.http import errors as http_errors
from heddle_connector.http.connection import Connection
from heddle_connector.http.write_coalescing import Departures

_IDLE_SECONDS = 30.0
Place = tuple[str, int]


class Pool:
    """Opens connections, and keeps those that are idle.

    The one that was used last goes first, so that after a rush the others grow old and close.
    """

    def __init__(self, connect_seconds: float, egress: Egress | None = None) -> None:
        self._connect_seconds = connect_seconds
        self._egress = egress
        self._idle: defaultdict[Place, list[Connection]] = defaultdict(list)
        self._all: set[Connection] = set()
        self._deadlines = Deadlines()
        self._departures = Departures()
        self._timer: asyncio.TimerHandle | None = None

    def idle(self, place: Place) -> Connection | None:
        """Return a connection to `place` that is ready, if there is one."""
        waiting = self._idle.get(place)
        while waiting:
            connection = waiting.pop()
            if connection.open and connection.loop.time() - connection.idle_since < _IDLE_SECONDS:
                return connection
            connection.close()
        return None

    async def connect(self, place: Place, url: str, seconds: float) -> Connection:
        """Open a connection to `place`, in `seconds` at most and in the pool's own time."""
        try:
            async with asyncio.timeout(min(self._connect_seconds, seconds)):
                connection = await self._reach(lambda: self._made(place), *place)
        except TimeoutError as error:
            if seconds <= self._connect_seconds:
                raise http_errors.late() from error
            raise http_errors.unreachable(url, error) from error
        except (OSError, UnicodeError) as error:  # no host has a name of such letters
            raise http_errors.unreachable(url, error) from error
        return connection

    async def _reach(self, made: Callable[[], Connection], host: str, port: int) -> Connection:
        """Open a connection to a host, whichever of its addresses it may be."""
        loop = asyncio.get_running_loop()
        if self._egress is None:
            return (await loop.create_connection(made, host, port))[1]
        *others, last = await self._egress.addresses(host, port)
        for address in others:
            try:
                return (await loop.create_connection(made, address, port))[1]
            except OSError:  # the next one may do
                continue
        return (await loop.create_connection(made, last, port))[1]

    def close(self) -> None:
        """Close all connections, those in use as well."""
        if self._timer is not None:
            self._timer.cancel()
        for connection in list(self._all):
            connection.close()

    def _made(self, place: Place) -> Connection:
        connection = Connection(
            place, self._deadlines, self._departures, self._put, self._all.discard
        )
        self._all.add(connection)
        return connection

    def _put(self, connection: Connection) -> None:
        loop = connection.loop
        connection.idle_since = loop.time()
        self._idle[connection.place].append(connection)
        if self._timer is None:
            self._timer = loop.call_later(_IDLE_SECONDS, self._sweep, loop)

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        """Close what nobody has used for long. One timer for all of them."""
        oldest = loop.time() - _IDLE_SECONDS
        for place, waiting in list(self._idle.items()):
            for connection in waiting:
                if connection.idle_since <= oldest:
                    connection.close()
            self._idle[place] = [connection for connection in waiting if connection.open]
            if not self._idle[place]:
                del self._idle[place]
        self._timer = loop.call_later(_IDLE_SECONDS, self._sweep, loop) if self._idle else None
