"""The way to providers: one pooled client with two methods, `whole` and `stream`.

Two ways lead there: a lean one over plain HTTP, and aiohttp for everything else.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Literal, NoReturn

from heddle_runtime.egress import Egress
from heddle_runtime.errors import HeddleError, ProviderGarbledError, UnavailableError

from heddle_connector.http import errors as http_errors
from heddle_connector.http.plain import PlainHttp, address
from heddle_connector.http.pool import Pool
from heddle_connector.http.provider_errors import refusal
from heddle_connector.http.request import (
    LONGEST_REFUSAL,
    LONGEST_REPLY,
    SUCCESSES,
    Answer,
    Pieces,
    Request,
)
from heddle_connector.http.secure import SecureHttp, secure_session

__all__ = ["LONGEST_REPLY", "Http", "Pieces", "Request", "Stream", "http_client"]

_BACKOFF = 0.15
_SECRETS = ("authorization", "x-goog-api-key")
"""Headers of requests that no error may repeat."""


class Http:
    """Sends requests to providers and turns what goes wrong into typed errors.

    No redirects, no proxies or passwords from the environment, no cookies. A POST is sent a
    second time only if the provider refused or reset the connection before anything came back, or
    answered 503: no other part of Heddle repeats requests to providers.
    """

    def __init__(self, plain: PlainHttp, secure: SecureHttp) -> None:
        self._plain = plain
        self._secure = secure

    async def whole(self, request: Request) -> bytes:
        """Return the body of the answer.

        Raises:
            UnavailableError: The provider cannot be reached, or failed.
            ResourceExhaustedError: The provider refuses more requests for now.
            ProviderRefusedError: The provider refused this request.
            ProviderGarbledError: The answer is cut off, too long, or not HTTP.
            DeadlineError: The request's seconds ran out.
        """
        answer = await self.open(request, whole=True)
        try:
            body = answer.all()
            return await _joined(answer) if body is None else body
        finally:
            answer.close()  # does nothing to a connection whose body was read

    def stream(self, request: Request) -> "Stream":
        """Yield the body of the answer piece by piece: `async with http.stream(...) as pieces`.

        Leaving the block before the end closes the connection, so that the provider stops.

        Raises:
            HeddleError: As of `whole`.
        """
        return Stream(self, request)

    async def open(self, request: Request, *, whole: bool) -> Answer:
        """Return an answer whose status is a success; the caller closes it."""
        begun = time.monotonic()
        try:
            answer = await self._send(request, request.seconds, whole=whole)
            return answer if answer.status in SUCCESSES else await _refuse(request, answer)
        except UnavailableError as error:
            # A connection that only grew old tells nothing about the provider, so need not wait.
            pause = 0.0 if http_errors.outdated(error) else _BACKOFF
            left = request.seconds - (time.monotonic() - begun) - pause
            repeatable = request.body is not None or not pause
            if left <= 0 or not repeatable or not http_errors.worth_repeating(error):
                raise
        await asyncio.sleep(pause)
        answer = await self._send(request, left, whole=whole, fresh=True)
        return answer if answer.status in SUCCESSES else await _refuse(request, answer)

    def _send(
        self, request: Request, seconds: float, *, whole: bool, fresh: bool = False
    ) -> Coroutine[Any, Any, Answer]:
        if seconds <= 0:  # to aiohttp, no time means no limit
            raise http_errors.late()
        if (found := address(request)) is not None:
            return self._plain.send(found, request, seconds, whole=whole, fresh=fresh)
        return self._secure.send(request, seconds)


class Stream:
    """An answer within an `async with` block. A class, because a generator costs more."""

    __slots__ = ("_answer", "_http", "_request")

    def __init__(self, http: Http, request: Request) -> None:
        self._http = http
        self._request = request
        self._answer: Answer | None = None

    async def __aenter__(self) -> Pieces:
        self._answer = await self._http.open(self._request, whole=False)
        return self._answer

    async def __aexit__(self, *_: object) -> Literal[False]:
        if self._answer is not None:
            self._answer.close()
        return False


@asynccontextmanager
async def http_client(connect_seconds: float, egress: Egress | None = None) -> AsyncGenerator[Http]:
    """Yield a client with pools of connections of its own.

    Args:
        connect_seconds: The time to open a connection.
        egress: Which addresses it may open them to. If None, any.
    """
    pool = Pool(connect_seconds, egress)
    async with secure_session(connect_seconds, egress) as session:
        try:
            yield Http(PlainHttp(pool), SecureHttp(session))
        finally:
            pool.close()


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


async def _refuse(request: Request, answer: Answer) -> NoReturn:
    """Raise what an answer means that is no success."""
    body = bytearray()
    try:
        async for piece in answer:
            body += piece
            if len(body) > LONGEST_REFUSAL:
                break
    except HeddleError:  # cut off: the status is known all the same
        pass
    finally:
        answer.close()
    secret = " ".join(request.headers.get(name, "") for name in _SECRETS)
    raise refusal(answer.status, answer.headers, bytes(body), secret)
