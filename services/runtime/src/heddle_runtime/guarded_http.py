"""HTTP clients for servers of the operator, and for those that organisations name.

httpx is not a dependency of the runtime: members that use this module depend on it.
"""

import asyncio
from collections.abc import Iterable
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpcore
import httpx

from heddle_runtime.egress import Egress, ForbiddenAddressError

_LIMITS = httpx.Limits(max_connections=200, max_keepalive_connections=50)


def new_client(
    timeout_seconds: float,
    egress: Egress | None = None,
    transport: httpx.AsyncBaseTransport | None = None,
) -> httpx.AsyncClient:
    """Return a client that keeps no cookies, as many users share it.

    Args:
        timeout_seconds: How long to wait for a server.
        egress: The addresses that it may connect to; None for servers of the operator.
        transport: Sends the requests in another way.
    """
    return httpx.AsyncClient(
        timeout=timeout_seconds,
        trust_env=False,
        follow_redirects=False,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        limits=_LIMITS,
        transport=GuardedTransport(egress, _LIMITS) if egress else transport,
    )


class GuardedTransport(httpx.AsyncHTTPTransport):
    """Sends requests to addresses that `Egress` permits."""

    def __init__(self, egress: Egress, limits: httpx.Limits) -> None:
        context = httpx.create_ssl_context(trust_env=False)
        super().__init__(verify=context, limits=limits)
        self._pool = httpcore.AsyncConnectionPool(  # httpx has no way to name the network
            ssl_context=context,
            max_connections=limits.max_connections,
            max_keepalive_connections=limits.max_keepalive_connections,
            keepalive_expiry=limits.keepalive_expiry,
            network_backend=_GuardedNetwork(egress),
        )


class _GuardedNetwork(httpcore.AsyncNetworkBackend):
    def __init__(self, egress: Egress) -> None:
        self._egress = egress
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the signature is httpcore's
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        rest = (port, timeout, local_address, socket_options)
        *others, last = await self._addresses(host, port, timeout)
        for address in others:
            try:
                return await self._network.connect_tcp(address, *rest)
            except httpcore.ConnectError:  # the next one may do
                continue
        return await self._network.connect_tcp(last, *rest)

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109 - as above
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        raise ForbiddenAddressError

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def _addresses(self, host: str, port: int, seconds: float | None) -> list[str]:
        try:
            async with asyncio.timeout(seconds):
                return await self._egress.addresses(host, port)
        except ForbiddenAddressError:
            raise
        except TimeoutError as error:
            raise httpcore.ConnectTimeout from error
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError from error
