"""Reads request bodies, with limits for their size and time."""

import asyncio

from starlette.types import Message

from heddle_gateway.http.error_responses import ErrorResponse, RejectedRequestError
from heddle_gateway.http.raw import RawRequest
from heddle_gateway.settings import GatewaySettings

# A slow connection may take longer than the timeout while it delivers at this rate.
MIN_BYTES_PER_SECOND = 256 * 1024
# The body is read up to this multiple of the limit before it is rejected: a client that is still
# sending when the connection closes often loses the response.
_READ_FACTOR = 4


class ClientGoneError(Exception):
    """The client closed the connection before it had its response."""


async def read_body(request: RawRequest, settings: GatewaySettings) -> bytes:
    """Return the body of a request, within the limits of the settings.

    Raises:
        RejectedRequestError: The body is too large or too slow.
        ClientGoneError: The client closed the connection.
    """
    max_bytes = settings.max_body_bytes
    if request.connection.request_complete:
        body = request.connection.take_body()
    else:
        length = request.header("content-length")
        if length.isdecimal() and int(length) > max_bytes:
            # A client that waits for permission to send the body sends it elsewhere. Another one
            # may read the response after the body, which uvicorn drops.
            raise _too_large(max_bytes, close=bool(request.header("expect")))
        body = await _read_parts(request, max_bytes, settings.body_timeout_seconds)
    if len(body) > max_bytes:
        raise _too_large(max_bytes)
    return body


async def _read_parts(request: RawRequest, max_bytes: int, timeout: float) -> bytes:  # noqa: ASYNC109 - it grows with what arrives
    """Return a body that is still arriving; of one that is too large, more than the limit."""
    started = asyncio.get_running_loop().time()
    parts: list[bytes] = []
    length = 0
    try:
        async with asyncio.timeout(timeout) as limit:
            while True:
                message = await _receive(request)
                part = message["body"]
                if length <= max_bytes:
                    parts.append(part)
                length += len(part)
                if length > max_bytes * _READ_FACTOR or not message["more_body"]:
                    return b"".join(parts)
                limit.reschedule(started + timeout + length / MIN_BYTES_PER_SECOND)
    except TimeoutError:
        text = "The request's body did not arrive in time."
        error = ErrorResponse(408, text, code="body_timeout", close=True)
        raise RejectedRequestError(error) from None


async def _receive(request: RawRequest) -> Message:
    message = await request.receive()
    if message["type"] == "http.disconnect":
        raise ClientGoneError
    return message


def _too_large(max_bytes: int, *, close: bool = True) -> RejectedRequestError:
    message = f"The request's body is larger than {max_bytes} bytes."
    return RejectedRequestError(ErrorResponse(413, message, code="request_too_large", close=close))
