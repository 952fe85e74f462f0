"""Opens connections to providers through an HTTP proxy."""

import asyncio
import ssl

from heddle_runtime.http.web_proxies import Proxy

from heddle_connector.http.request import Origin, authority

_MAX_HEAD_BYTES = 16 * 1024
_OK = b"200"


class ProxyRefusedError(ConnectionError):
    """The proxy did not connect to the provider. The text names its status."""


async def open_tunnel(
    proxy: Proxy, origin: Origin, protocol: asyncio.Protocol, tls: ssl.SSLContext
) -> None:
    """Connect `protocol` to `origin` over TLS, through a tunnel of `proxy` (CONNECT).

    Raises:
        ProxyRefusedError: The proxy refuses.
        OSError: The proxy or the provider cannot be reached, or its certificate is not valid.
    """
    loop = asyncio.get_running_loop()
    transport, answer = await loop.create_connection(
        _ProxyAnswer, proxy.host, proxy.port, ssl=tls if proxy.secure else None
    )
    try:
        target = authority(origin)
        head = f"CONNECT {target} HTTP/1.1\r\nhost: {target}\r\n{authorization(proxy)}\r\n"
        transport.write(head.encode())
        await answer.accepted
        secured = await loop.start_tls(transport, protocol, tls, server_hostname=origin.host)
        assert secured is not None  # noqa: S101 - without an error, asyncio returns one
    except BaseException:
        transport.abort()
        raise
    protocol.connection_made(secured)


class _ProxyAnswer(asyncio.Protocol):
    """Reads the answer to CONNECT."""

    def __init__(self) -> None:
        self.accepted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._head = b""

    def data_received(self, data: bytes) -> None:
        self._head += data
        if b"\r\n\r\n" in self._head or len(self._head) > _MAX_HEAD_BYTES:
            self._finish()

    def connection_lost(self, exc: Exception | None) -> None:
        self._finish()

    def _finish(self) -> None:
        if self.accepted.done():
            return
        status = self._head.partition(b" ")[2][:3]
        if status == _OK:
            self.accepted.set_result(None)
        else:
            text = f"the proxy answers {status.decode(errors='replace')!r}"
            self.accepted.set_exception(ProxyRefusedError(text))


def authorization(proxy: Proxy) -> str:
    """Return the header line with the credentials for `proxy`, if it has any."""
    return f"proxy-authorization: {proxy.authorization}\r\n" if proxy.authorization else ""
