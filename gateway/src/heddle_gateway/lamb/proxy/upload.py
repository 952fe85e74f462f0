"""Sends the body of a request to LAMB while it arrives."""

import asyncio

from starlette.types import Message

from heddle_gateway.http.body import ClientGoneError
from heddle_gateway.http.error_responses import ErrorResponse
from heddle_gateway.http.raw import RawRequest
from heddle_gateway.lamb.proxy.connection import LambConnection
from heddle_gateway.lamb.proxy.failures import LambError
from heddle_gateway.lamb.proxy.hang_ups import has_hung_up

_CHECK_SECONDS = 0.1
"""How often a client whose bytes wait for LAMB is checked."""


class UploadError(LambError):
    """The body of a request does not arrive as it should. LAMB is not at fault."""


class Upload:
    """The body of one request."""

    def __init__(
        self, request: RawRequest, connection: LambConnection, max_bytes: int, seconds: float
    ) -> None:
        """Prepare.

        Args:
            request: The request.
            connection: To LAMB; the head of the request was sent.
            max_bytes: The maximum size of the body.
            seconds: How long the client may send nothing.
        """
        self._request = request
        self._connection = connection
        self._max_bytes = max_bytes
        self._seconds = seconds

    async def run(self, *, chunked: bool) -> None:
        """Send the body. A failure becomes that of the connection to LAMB."""
        try:
            await self._run(chunked=chunked)
        except (UploadError, ClientGoneError) as error:
            self._connection.fail(error)

    async def _run(self, *, chunked: bool) -> None:
        connection = self._connection
        size, more = 0, True
        while more:
            message = await self._receive()
            body, more = message["body"], message["more_body"]
            size += len(body)
            if size > self._max_bytes:
                error = too_large(self._request, self._max_bytes)
                raise UploadError(error, "the request's body is too large")
            if body:
                connection.write(b"%x\r\n%b\r\n" % (len(body), body) if chunked else body)
            await self._let_lamb_read()
        if chunked:
            connection.write(b"0\r\n\r\n")

    async def _receive(self) -> Message:
        try:
            async with asyncio.timeout(self._seconds):
                message = await self._request.receive()
        except TimeoutError:
            text = "The request's body did not arrive in time."
            error = ErrorResponse(408, text, code="body_timeout", close=True)
            raise UploadError(error, f"the client sent nothing for {self._seconds:g} s") from None
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        return message

    async def _let_lamb_read(self) -> None:
        """Wait until LAMB has read enough. A client that leaves meanwhile is noticed.

        Raises:
            ClientGoneError: It has left.
        """
        while (writable := self._connection.writable()) is not None:
            await asyncio.wait([writable], timeout=_CHECK_SECONDS)
            if not writable.done() and has_hung_up(self._request.connection.transport):
                raise ClientGoneError


def too_large(request: RawRequest, max_bytes: int) -> ErrorResponse:
    """Return the error for a body that is larger than the limit.

    The connection stays open for the rest of the body: a client that is still sending when it is
    closed often loses the response. One that waits for permission to send may not send it.
    """
    message = f"The request's body is larger than {max_bytes} bytes."
    waits = bool(request.header("expect"))
    return ErrorResponse(413, message, code="request_too_large", close=waits)
