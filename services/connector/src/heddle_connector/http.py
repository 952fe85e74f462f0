"""The way to providers: one pooled client with two methods, `whole` and `stream`.

Measured: httpx costs three to twelve times as much as aiohttp when many streams run at once.
"""

import asyncio
import errno
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Self

import aiohttp
import structlog
from heddle_runtime.errors import (
    DeadlineError,
    HeddleError,
    ProviderGarbledError,
    UnavailableError,
)

from heddle_connector.refusals import refusal

LONGEST_REPLY = 16 * 1024 * 1024
"""Bytes of a whole reply."""
_LONGEST_REFUSAL = 64 * 1024
_SUCCESSES = range(200, 300)
_UNAVAILABLE = 503
_TORN = (errno.ECONNREFUSED, errno.ECONNRESET, errno.EPIPE)
_BACKOFF = 0.15
_LINGER = 0.2
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Request:
    """A request to a provider: a POST of JSON, or a GET if it has no body."""

    url: str
    headers: Mapping[str, str]
    seconds: float
    """The time for everything, from the connection to the last byte."""
    body: bytes | None = None


class Pieces:
    """The body of an answer, as it arrives. Each piece is everything that had arrived."""

    __slots__ = ("_content",)

    def __init__(self, content: aiohttp.StreamReader) -> None:
        self._content = content

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
        """Read what follows the end mark, so that the connection can serve the next request.

        That is the end of the HTTP body and a matter of microseconds; a provider that does not
        send it loses the connection, not our time.
        """
        if self._content.at_eof():
            return
        try:
            async with asyncio.timeout(_LINGER):
                while await self._content.readany():
                    pass
        except (aiohttp.ClientError, OSError):  # the answer was complete; OSError covers time-outs
            return


class Http:
    """Sends requests to providers and turns what goes wrong into typed errors.

    No redirects, no proxies or passwords from the environment, no cookies. A POST is sent a
    second time only if the provider refused or reset the connection before anything came back, or
    answered 503: no other part of Heddle repeats requests to providers.
    """

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def whole(self, request: Request) -> bytes:
        """Return the body of the answer.

        Raises:
            UnavailableError: The provider cannot be reached, or failed.
            ResourceExhaustedError: The provider refuses more requests for now.
            ProviderRefusedError: The provider refused this request.
            ProviderGarbledError: The answer is cut off, too long, or not HTTP.
            DeadlineError: The request's seconds ran out.
        """
        response = await self._open(request)
        try:
            return await _joined(Pieces(response.content))
        finally:
            response.close()  # does nothing to a connection whose body was read

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[Pieces]:
        """Yield the body of the answer piece by piece.

        Leaving the block before the end closes the connection, so that the provider stops.

        Raises:
            HeddleError: As of `whole`.
        """
        response = await self._open(request)
        try:
            yield Pieces(response.content)
        finally:
            response.close()

    async def _open(self, request: Request) -> aiohttp.ClientResponse:
        deadline = time.monotonic() + request.seconds
        try:
            return await self._send(request, request.seconds)
        except UnavailableError as error:
            left = deadline - time.monotonic() - _BACKOFF
            if request.body is None or left <= 0 or not _worth_repeating(error):
                raise
        await asyncio.sleep(_BACKOFF)
        return await self._send(request, left)

    async def _send(self, request: Request, seconds: float) -> aiohttp.ClientResponse:
        if seconds <= 0:  # to aiohttp, no time means no limit
            raise _late()
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
            raise _unreachable(request, error) from error
        except (aiohttp.ClientConnectionError, OSError) as error:
            timed_out = isinstance(error, TimeoutError)
            raise (_broken(error) if timed_out else _unreachable(request, error)) from error
        except aiohttp.ClientError as error:
            raise _broken(error) from error
        if response.status in _SUCCESSES:
            return response
        raise await _refused(request, response)


@asynccontextmanager
async def http_client(connect_seconds: float) -> AsyncGenerator[Http]:
    """Yield a client with a pool of connections of its own."""
    pool = aiohttp.TCPConnector(limit=0, keepalive_timeout=30)  # the server limits calls, not us
    async with aiohttp.ClientSession(
        connector=pool,
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={
            "user-agent": "heddle-connector",
            "accept-encoding": "identity",  # a compressor holds tokens back
            "content-type": "application/json",
        },
        timeout=aiohttp.ClientTimeout(total=None, connect=connect_seconds),
        trust_env=False,
    ) as session:
        yield Http(session)


async def _joined(pieces: Pieces) -> bytes:
    found, size = [], 0
    async for piece in pieces:
        found.append(piece)
        size += len(piece)
        if size > LONGEST_REPLY:
            raise ProviderGarbledError(
                f"The provider sent a reply of more than {LONGEST_REPLY} bytes."
            )
    return b"".join(found)


async def _refused(request: Request, response: aiohttp.ClientResponse) -> HeddleError:
    body = bytearray()
    try:
        async for piece in Pieces(response.content):
            body += piece
            if len(body) > _LONGEST_REFUSAL:
                break
    except HeddleError:  # cut off: the status is known all the same
        pass
    finally:
        response.close()
    secret = request.headers.get("authorization", "")
    return refusal(response.status, response.headers, bytes(body), secret)


def _worth_repeating(error: UnavailableError) -> bool:
    """Return whether the provider has done nothing yet and may do so in a moment."""
    cause = error.__cause__
    if cause is None:
        overloaded = error.metadata.get("http_status") == str(_UNAVAILABLE)
        return overloaded and error.retry_after is None
    torn = isinstance(cause, OSError) and cause.errno in _TORN
    return torn or isinstance(cause, aiohttp.ServerDisconnectedError)


def _unreachable(request: Request, error: Exception) -> UnavailableError:
    # The caller learns no address of our network; the operator does.
    log.info("provider unreachable", url=request.url, problem=type(error).__name__)
    return UnavailableError("The provider cannot be reached. Try again later.")


def _broken(error: Exception) -> HeddleError:
    if isinstance(error, TimeoutError):
        return _late()
    if isinstance(error, aiohttp.ClientConnectionError | ConnectionError):
        return UnavailableError("The connection to the provider was lost in mid-answer.")
    return ProviderGarbledError("The provider broke off in mid-answer, or does not speak HTTP.")


def _late() -> DeadlineError:
    return DeadlineError("The provider did not answer in the time of the call.")
