"""The HTTP client of the connectors: `fetch` for whole bodies, `stream` for streamed ones."""

import asyncio
import time
from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from typing import NoReturn

from heddle_runtime.errors import HeddleError, ProviderGarbledError, UnavailableError
from heddle_runtime.http.egress import Egress
from heddle_runtime.http.web_proxies import NO_PROXIES, WebProxies
from heddle_runtime.identity import call_metadata
from heddle_runtime.telemetry import log_fields, spans
from heddle_runtime.telemetry.metrics import table

from heddle_connector.http import errors
from heddle_connector.http.pool import ConnectionPool
from heddle_connector.http.provider_errors import provider_error
from heddle_connector.http.request import Origin, Request, RequestHead, request_head
from heddle_connector.http.response import (
    MAX_BODY_BYTES,
    MAX_ERROR_BODY_BYTES,
    SUCCESSES,
    Response,
)
from heddle_connector.http.tunnel import authorization

_BACKOFF_SECONDS = 0.15


class HttpClient:
    """Sends requests to providers and translates failures to typed errors.

    The client follows no redirects, stores no cookies, and takes no passwords from the environment.
    It repeats a POST once, and only if the provider refused or reset the connection before the
    first byte of a response, or answered 503. No other part of Heddle repeats requests to
    providers.
    """

    def __init__(
        self, pool: ConnectionPool, stall_seconds: float, traced: Collection[str] = ()
    ) -> None:
        self._pool = pool
        self._stall_seconds = stall_seconds
        self._traced = frozenset(traced)

    async def fetch(self, request: Request) -> bytes:
        """Return the body of the response.

        Raises:
            UnavailableError: The provider cannot be reached, or failed.
            ResourceExhaustedError: The provider limits the rate of requests.
            ProviderRefusedError: The provider refused this request.
            ProviderGarbledError: The response is cut off, too long, or not HTTP.
            DeadlineError: The time limit of the request has passed.
        """
        response = await self.open(request, buffered=True)
        try:
            body = response.complete_body()
            return await _read_body(response) if body is None else body
        finally:
            response.close()  # has no effect on a connection whose body was read

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[Response]:
        """Yield the body of the response: `async with http.stream(...) as response`.

        Leaving the block before the end closes the connection, so that the provider stops.

        Raises:
            HeddleError: As `fetch` does.
        """
        response = await self.open(request, buffered=False)
        try:
            yield response
        finally:
            response.close()

    async def open(self, request: Request, *, buffered: bool) -> Response:
        """Return a response with a success status; the caller closes it."""
        started = time.monotonic()
        head = request_head(request)
        try:
            response = await self._send(head, request, request.seconds, buffered=buffered)
            return response if response.status in SUCCESSES else await _refuse(response)
        except UnavailableError as error:
            # A stale connection says nothing about the provider, so it needs no pause.
            pause = 0.0 if errors.is_stale_connection(error) else _BACKOFF_SECONDS
            remaining = request.seconds - (time.monotonic() - started) - pause
            repeatable = request.body is not None or not pause
            if remaining <= 0 or not repeatable or not errors.is_retryable(error):
                raise
            reason = _reason(error, stale=not pause)
            table.PROVIDER_RETRIES.add(1, reason)
            spans.add_event("retry", {"heddle.retry.reason": reason})
        await asyncio.sleep(pause)
        response = await self._send(head, request, remaining, buffered=buffered, reuse=False)
        return response if response.status in SUCCESSES else await _refuse(response)

    async def _send(
        self,
        head: RequestHead,
        request: Request,
        seconds: float,
        *,
        buffered: bool,
        reuse: bool = True,
    ) -> Response:
        """Send `request` once, and return the response when its head has arrived."""
        connection = self._pool.idle(head.origin) if reuse else None
        if connection is None:
            started = time.monotonic()
            connection = await self._pool.connect(head.origin, request.url, seconds)
            seconds = max(0.0, seconds - (time.monotonic() - started))
        body = request.body
        end = b"\r\n" if body is None else b"content-length: %d\r\n\r\n%b" % (len(body), body)
        if self._traced and _names(self._traced, head.origin):
            end = _ids() + end
        stall = self._stall_seconds if buffered else seconds
        fields = log_fields.current()
        fields.provider_status = 0  # the last one belongs to an earlier request
        data = head.data
        if connection.proxy is not None:
            data = head.for_proxy() + authorization(connection.proxy).encode()
        response = connection.send(data + end, seconds, stall, buffered=buffered)
        try:
            await response.wait_for_head()
        except UnavailableError as error:
            cause = error.__cause__
            if not isinstance(cause, Exception):
                raise
            raise errors.unreachable(request.url, cause) from cause
        except BaseException:
            response.close()
            raise
        fields.provider_status = response.status
        return response


@asynccontextmanager
async def http_client(
    connect_seconds: float,
    egress: Egress | None = None,
    stall_seconds: float = errors.DEFAULT_STALL_SECONDS,
    traced: Collection[str] = (),
    proxies: WebProxies = NO_PROXIES,
) -> AsyncGenerator[HttpClient]:
    """Yield a client with its own connection pool.

    Args:
        connect_seconds: The time limit for opening a connection.
        egress: The policy that decides which addresses may be connected to; None allows all.
        stall_seconds: The longest time between two parts of a body that is read at once.
        traced: The servers that get the id and the trace context of requests, as `host` or
            `host:port`.
        proxies: The proxies through which providers are reached.
    """
    pool = ConnectionPool(connect_seconds, egress, proxies)
    try:
        yield HttpClient(pool, stall_seconds, traced)
    finally:
        pool.close()


def _names(servers: Collection[str], origin: Origin) -> bool:
    return origin.host in servers or f"{origin.host}:{origin.port}" in servers


def _ids() -> bytes:
    """Return the headers with the id and the trace context of the current request."""
    current = call_metadata.caller()
    values = {
        call_metadata.REQUEST_ID: current.request_id,
        call_metadata.TRACE: call_metadata.trace_of_calls(current.traceparent),
    }
    lines = (
        f"{name}: {value}\r\n"
        for name, value in values.items()
        if value and value.isascii() and value.isprintable()  # a caller of the service chose it
    )
    return "".join(lines).encode("ascii")


def _reason(error: UnavailableError, *, stale: bool) -> str:
    """Return why a request is repeated."""
    if stale:
        return "stale_connection"
    return "no_connection" if error.__cause__ else "overloaded"


async def _read_body(response: Response) -> bytes:
    chunks, size = [], 0
    async for chunk in response:
        chunks.append(chunk)
        size += len(chunk)
        if size > MAX_BODY_BYTES:
            raise ProviderGarbledError(
                f"The provider sent a reply of more than {MAX_BODY_BYTES} bytes."
            )
    return b"".join(chunks)


async def _refuse(response: Response) -> NoReturn:
    """Raise the error that a response with an error status means."""
    body = bytearray()
    try:
        async for chunk in response:
            body += chunk
            if len(body) > MAX_ERROR_BODY_BYTES:
                break
    except HeddleError:  # the body is cut off, but the status is known
        pass
    finally:
        response.close()
    raise provider_error(response.status, response.headers, bytes(body))
