"""Sends requests to LAMB, each over a connection of its own."""

import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import httpx

from heddle_migration_service.proxy.failures import (
    CutError,
    GarbledError,
    LambError,
    SilentError,
    UnreachableError,
)
from heddle_migration_service.proxy.request_head import RequestHead
from heddle_migration_service.proxy.targets import rejected

CONNECT_SECONDS = 5.0
_PORTS = {"http": 80, "https": 443}
_CUT = ("peer closed connection", "Server disconnected")
"""Begin the messages of h11 and httpcore for a response that ends too early."""


class LambClient:
    """The one place that requests are sent to. No request can name another."""

    def __init__(self, url: str, seconds: float) -> None:
        """Prepare.

        Args:
            url: The address of LAMB, which the settings have accepted.
            seconds: How long LAMB may be silent.
        """
        self._url = httpx.URL(url)
        self._seconds = seconds
        self._timeout = {"connect": CONNECT_SECONDS, "read": seconds, "write": seconds}
        secure = self._url.scheme == "https"
        self.tls = ssl.create_default_context() if secure else None
        self.host = self._url.host
        self.port = self._url.port or _PORTS[self._url.scheme]
        # h11 would read bytes behind a response as the response to the next request of the
        # connection, which can be that of another user. So no connection serves two.
        limits = httpx.Limits(max_keepalive_connections=0)
        self._transport = httpx.AsyncHTTPTransport(verify=self.tls or False, limits=limits)

    @asynccontextmanager
    async def send(
        self, head: RequestHead, body: httpx.AsyncByteStream, **extensions: object
    ) -> AsyncGenerator[httpx.Response]:
        """Send a request, and yield the response, whose body is still arriving.

        Args:
            head: The head of the request.
            body: Its body.
            extensions: Of httpx, for this request.

        Raises:
            LambError: LAMB does not answer as it should, also while the body is read.
            RejectedRequestError: The request is no HTTP.
        """
        request = httpx.Request(
            head.method,
            self._url,
            headers=head.headers,
            stream=body,
            extensions={"target": head.target, "timeout": self._timeout, **extensions},
        )
        try:
            response = await self._transport.handle_async_request(request)
            try:
                yield response
            finally:
                await response.aclose()
        except httpx.LocalProtocolError as error:
            raise rejected("The head of the request contains a forbidden character.") from error
        except httpx.TransportError as error:
            raise self._failure(error) from error

    def _failure(self, error: httpx.TransportError) -> LambError:
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
            return UnreachableError(f"{self.host}:{self.port} accepts no connection: {error!r}")
        if isinstance(error, httpx.TimeoutException):
            return SilentError(self._seconds)
        if isinstance(error, httpx.NetworkError) or str(error).startswith(_CUT):
            return CutError(f"the connection was closed: {error!r}")
        return GarbledError(str(error))
