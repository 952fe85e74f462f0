"""The way to providers on the internet: aiohttp, which brings TLS.

Measured: httpx costs three to twelve times as much as aiohttp when many streams run at once.
"""

import asyncio
from collections.abc import Mapping
from typing import Self

import aiohttp
from heddle_runtime.egress import Egress
from heddle_runtime.errors import HeddleError

from heddle_connector.http import errors as http_errors
from heddle_connector.http.errors import UnansweredError
from heddle_connector.http.request import DEFAULTS, LINGER, Request


class SecureAnswer:
    """The answer to one request."""

    __slots__ = ("_content", "_response")

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self._content = response.content

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self._response.status

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers."""
        return self._response.headers

    def all(self) -> bytes | None:
        """Return nothing: aiohttp tells only by and by what is here."""
        return None

    def close(self) -> None:
        """Close the connection, unless the body was read to its end."""
        self._response.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        try:
            piece = await self._content.readany()
        except (aiohttp.ClientError, OSError) as error:
            raise _broken(error) from error
        if not piece:
            raise StopAsyncIteration
        return piece

    async def rest(self) -> None:
        """Read what follows the end mark."""
        if self._content.at_eof():
            return
        try:
            async with asyncio.timeout(LINGER):
                while await self._content.readany():
                    pass
        except (aiohttp.ClientError, OSError):  # the answer was complete; OSError covers time-outs
            return


class SecureHttp:
    """Sends requests, each once."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def send(self, request: Request, seconds: float) -> SecureAnswer:
        """Send `request`, and return the answer when its head is here."""
        try:
            response = await self._session.request(
                "GET" if request.body is None else "POST",
                request.url,
                data=request.body,
                headers=request.headers,
                timeout=aiohttp.ClientTimeout(total=seconds, connect=self._session.timeout.connect),
                allow_redirects=False,
            )
        except aiohttp.ServerTimeoutError as error:  # connecting; also a TimeoutError
            raise http_errors.unreachable(request.url, error) from error
        except aiohttp.ServerDisconnectedError as error:
            unreachable = http_errors.unreachable(request.url, error)
            raise unreachable from UnansweredError(pooled=False)
        except (aiohttp.ClientConnectionError, OSError) as error:
            if isinstance(error, TimeoutError):
                raise _broken(error) from error
            raise http_errors.unreachable(request.url, error) from error
        except aiohttp.ClientError as error:
            raise _broken(error) from error
        return SecureAnswer(response)


def secure_session(connect_seconds: float, egress: Egress | None = None) -> aiohttp.ClientSession:
    """Return a pool of connections: no cookies, and nothing taken from the environment."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(
            limit=0,  # the server limits calls, not us
            keepalive_timeout=30,
            socket_factory=egress.socket if egress else None,
        ),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers=DEFAULTS,
        timeout=aiohttp.ClientTimeout(total=None, connect=connect_seconds),
        trust_env=False,
    )


def _broken(error: Exception) -> HeddleError:
    if isinstance(error, TimeoutError):
        return http_errors.late()
    if isinstance(error, aiohttp.ClientConnectionError | ConnectionError):
        return http_errors.lost()
    return http_errors.garbled()
