"""HTTP clients for servers of the operator, and for those that organisations name.

httpx is not a dependency of the runtime: members that use this module depend on it.
"""

import asyncio
import ssl
from collections.abc import Iterable
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpcore
import httpx

from heddle_runtime.http.egress import Egress, ForbiddenAddressError, check_proxied
from heddle_runtime.http.web_proxies import NO_PROXIES, Proxy, WebProxies

_PORTS = {"http": 80, "https": 443}
_LIMITS = httpx.Limits(max_connections=200, max_keepalive_connections=50)


def new_client(
    timeout_seconds: float,
    egress: Egress | None = None,
    proxies: WebProxies = NO_PROXIES,
) -> httpx.AsyncClient:
    """Return a client that keeps no cookies, as many users share it.

    Args:
        timeout_seconds: The time limit of a server's answer.
        egress: The addresses that it may connect to; None for servers of the operator.
        proxies: The proxies through which it reaches servers.
    """
    transport: httpx.AsyncBaseTransport | None = None
    if egress:
        transport = GuardedTransport(egress, _LIMITS)
    if proxies.by_scheme:
        transport = _ProxiedTransport(transport or _direct(), egress, proxies)
    return httpx.AsyncClient(
        timeout=timeout_seconds,
        trust_env=False,
        follow_redirects=False,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        limits=_LIMITS,
        transport=transport,
        verify=tls_context(),
    )


@cache
def tls_context() -> ssl.SSLContext:
    """Return the TLS context of all clients: loading the certificate authorities takes 20 ms."""
    return httpx.create_ssl_context(trust_env=False)


def _direct(proxy: httpx.Proxy | None = None) -> httpx.AsyncHTTPTransport:
    return httpx.AsyncHTTPTransport(verify=tls_context(), limits=_LIMITS, proxy=proxy)


class _ProxiedTransport(httpx.AsyncBaseTransport):
    """Sends requests through proxies. The policy of addresses applies to their targets."""

    def __init__(
        self, direct: httpx.AsyncBaseTransport, egress: Egress | None, proxies: WebProxies
    ) -> None:
        self._direct = direct
        self._egress = egress
        self._proxies = proxies
        self._transports = {proxy: _through(proxy) for proxy in proxies.by_scheme.values()}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        port = url.port or _PORTS.get(url.scheme, 0)
        proxy = self._proxies.proxy_for(url.scheme, url.host, port)
        if proxy is None:
            return await self._direct.handle_async_request(request)
        try:
            await check_proxied(self._proxies, self._egress, url.host, port)
        except ForbiddenAddressError:
            raise
        except (OSError, UnicodeError) as error:
            raise httpx.ConnectError(str(error), request=request) from error
        return await self._transports[proxy].handle_async_request(request)

    async def aclose(self) -> None:
        for transport in (self._direct, *self._transports.values()):
            await transport.aclose()


def _through(proxy: Proxy) -> httpx.AsyncHTTPTransport:
    headers = {"Proxy-Authorization": proxy.authorization} if proxy.authorization else None
    return _direct(httpx.Proxy(proxy.url, headers=headers))


class GuardedTransport(httpx.AsyncHTTPTransport):
    """Sends requests to addresses that `Egress` permits."""

    def __init__(self, egress: Egress, limits: httpx.Limits) -> None:
        super().__init__(verify=tls_context(), limits=limits)
        self._pool = httpcore.AsyncConnectionPool(  # httpx has no way to name the network
            ssl_context=tls_context(),
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
