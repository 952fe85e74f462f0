"""The pool of open connections to providers."""

import asyncio
import ssl
from collections import defaultdict
from functools import cached_property

from heddle_runtime.http.egress import Egress, check_proxied
from heddle_runtime.http.web_proxies import NO_PROXIES, Proxy, WebProxies
from heddle_runtime.rpc.deadlines import Deadlines

from heddle_connector.http import errors
from heddle_connector.http.connection import Connection, WriteCoalescer
from heddle_connector.http.request import Origin
from heddle_connector.http.tunnel import open_tunnel

_IDLE_SECONDS = 30.0


class ConnectionPool:
    """Opens connections and keeps those that are idle.

    The most recently used connection is used first, so that after a burst the others expire.
    """

    def __init__(
        self,
        connect_seconds: float,
        egress: Egress | None = None,
        proxies: WebProxies = NO_PROXIES,
    ) -> None:
        self._connect_seconds = connect_seconds
        self._egress = egress
        self._proxies = proxies
        self._idle: defaultdict[Origin, list[Connection]] = defaultdict(list)
        self._all: set[Connection] = set()
        self._deadlines = Deadlines()
        self._writer = WriteCoalescer()
        self._timer: asyncio.TimerHandle | None = None

    def idle(self, origin: Origin) -> Connection | None:
        """Return an idle connection to `origin`, if there is one."""
        connections = self._idle.get(origin)
        while connections:
            connection = connections.pop()
            if connection.open and connection.loop.time() - connection.idle_since < _IDLE_SECONDS:
                return connection
            connection.close()
        return None

    async def connect(self, origin: Origin, url: str, seconds: float) -> Connection:
        """Open a connection to `origin` within `seconds` and the pool's own time limit."""
        try:
            async with asyncio.timeout(min(self._connect_seconds, seconds)):
                return await self._open(origin)
        except TimeoutError as error:
            if seconds <= self._connect_seconds:
                raise errors.timed_out() from error
            raise errors.unreachable(url, error) from error
        except (OSError, UnicodeError) as error:  # UnicodeError: not a possible host name
            raise errors.unreachable(url, error) from error

    async def _open(self, origin: Origin) -> Connection:
        """Open a connection to the first address of the host that accepts one.

        With an egress policy, the addresses that the policy has approved are connected to, so
        that the host name is not resolved a second time. A proxy resolves it itself.
        """
        scheme = "https" if origin.secure else "http"
        if proxy := self._proxies.proxy_for(scheme, origin.host, origin.port):
            await check_proxied(self._proxies, self._egress, origin.host, origin.port)
            return await self._open_through(proxy, origin)
        if self._egress is None:
            return await self._open_address(origin, origin.host)
        *others, last = await self._egress.addresses(origin.host, origin.port)
        for address in others:
            try:
                return await self._open_address(origin, address)
            except OSError:  # the next address may work
                continue
        return await self._open_address(origin, last)

    async def _open_through(self, proxy: Proxy, origin: Origin) -> Connection:
        if not origin.secure:
            server = Origin(proxy.host, proxy.port, proxy.secure)
            return await self._open_address(origin, proxy.host, server, proxy)
        connection = self._new_connection(origin)
        await open_tunnel(proxy, origin, connection, self._tls)
        self._all.add(connection)
        return connection

    def _new_connection(self, origin: Origin, proxy: Proxy | None = None) -> Connection:
        done = (self._put, self._all.discard)
        return Connection(origin, self._deadlines, self._writer, *done, proxy=proxy)

    async def _open_address(
        self,
        origin: Origin,
        address: str,
        server: Origin | None = None,
        proxy: Proxy | None = None,
    ) -> Connection:
        """Open a connection to an address of `server`, which is `origin` if there is no proxy."""
        server = server or origin
        connection = self._new_connection(origin, proxy)
        await connection.loop.create_connection(
            lambda: connection,
            address,
            server.port,
            ssl=self._tls if server.secure else None,
            server_hostname=server.host if server.secure else None,
        )
        if connection.open:
            self._all.add(connection)
        return connection

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        """The TLS settings: certificates are verified against the system's authorities."""
        context = ssl.create_default_context()
        context.set_alpn_protocols(["http/1.1"])
        return context

    def close(self) -> None:
        """Close all connections, including those in use."""
        if self._timer is not None:
            self._timer.cancel()
        for connection in list(self._all):
            connection.close()

    def _put(self, connection: Connection) -> None:
        loop = connection.loop
        connection.idle_since = loop.time()
        self._idle[connection.origin].append(connection)
        if self._timer is None:
            self._timer = loop.call_later(_IDLE_SECONDS, self._sweep, loop)

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        """Close the connections that have been idle for too long. One timer serves all of them."""
        oldest = loop.time() - _IDLE_SECONDS
        for origin, connections in list(self._idle.items()):
            for connection in connections:
                if connection.idle_since <= oldest:
                    connection.close()
            self._idle[origin] = [connection for connection in connections if connection.open]
            if not self._idle[origin]:
                del self._idle[origin]
        self._timer = loop.call_later(_IDLE_SECONDS, self._sweep, loop) if self._idle else None
