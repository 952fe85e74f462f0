"""Reading request bodies without believing what they announce."""

import asyncio
from typing import TYPE_CHECKING, Any

from starlette.types import Message

from heddle_gateway.http.error_responses import ErrorResponse, RejectedRequestError
from heddle_gateway.http.json_text import Place, parse
from heddle_gateway.http.raw import RawRequest

if TYPE_CHECKING:
    from heddle_gateway.state import State

# A slow line may take longer than the time-out, as long as it delivers.
SLOWEST_BYTES_PER_SECOND = 256 * 1024
# What is read beyond the limit before the refusal goes out. A client that is still sending when
# the connection closes often loses the answer.
_PATIENCE_FACTOR = 4


class ClientGoneError(Exception):
    """The client closed the connection before it had sent its request."""


async def read_body(exchange: RawRequest, most: int, timeout: float) -> bytes:  # noqa: ASYNC109 - it grows with what arrives
    """Return the body, at most `most` bytes.

    `timeout` is the seconds that the body may take, in addition to the time that its bytes need
    on a slow line.

    Raises:
        RejectedRequestError: The body is too large or comes too slowly.
        ClientGoneError: The client closed the connection.
    """
    if exchange.connection.request_complete:
        body = exchange.connection.take_body()
    else:
        announced = exchange.header("content-length")
        if exchange.header("expect") and announced.isdecimal() and int(announced) > most:
            raise _too_large(most)  # the client waits for leave to send, so it is not sending
        body = await _slow_body(exchange, most, timeout)
    if len(body) > most:
        raise _too_large(most)
    return body


async def read_object(state: "State", exchange: RawRequest) -> tuple[dict[str, Any], Place]:
    """Return the members of the JSON object that the body is, and where complaints start from.

    Raises:
        RejectedRequestError: The body is too large or comes too slowly.
        InvalidRequestError: The body is not one well-formed JSON object.
        ClientGoneError: The client closed the connection.
    """
    settings = state.settings
    given, exact = parse(await read_body(exchange, settings.max_body_bytes, settings.body_timeout))
    return given, Place(exact)


async def _slow_body(exchange: RawRequest, most: int, timeout: float) -> bytes:  # noqa: ASYNC109 - as above
    """Return a body that is still on its way, or as much of it as shows that it is too large."""
    started = asyncio.get_running_loop().time()
    pieces: list[bytes] = []
    length = 0
    try:
        async with asyncio.timeout(timeout) as limit:
            while True:
                message = await _next(exchange)
                piece = message["body"]
                if length <= most:
                    pieces.append(piece)
                length += len(piece)
                if length > most * _PATIENCE_FACTOR or not message["more_body"]:
                    return b"".join(pieces)
                limit.reschedule(started + timeout + length / SLOWEST_BYTES_PER_SECOND)
    except TimeoutError:
        problem = ErrorResponse(
            408, "The request's body did not arrive in time.", code="body_timeout"
        )
        raise RejectedRequestError(problem, close=True) from None


async def _next(exchange: RawRequest) -> Message:
    message = await exchange.receive()
    if message["type"] == "http.disconnect":
        raise ClientGoneError
    return message


def _too_large(most: int) -> RejectedRequestError:
    message = f"The request's body is larger than {most} bytes."
    return RejectedRequestError(ErrorResponse(413, message, code="request_too_large"), close=True)
