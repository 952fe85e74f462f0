"""The body of a request, which is sent to LAMB while it arrives."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import httpcore
import httpx
from heddle_gateway.http.body import ClientGoneError
from heddle_gateway.http.error_responses import ErrorResponse
from heddle_gateway.http.raw import RawRequest
from starlette.types import Message

from heddle_migration_service.proxy.failures import LambError

_CHECK_SECONDS = 0.1
"""How often LAMB is checked for a response while the client sends nothing."""


class UploadError(LambError):
    """The body of a request does not arrive as it should. LAMB is not at fault."""


@dataclass(eq=False, slots=True)
class Upload(httpx.AsyncByteStream):
    """The body of one request."""

    request: RawRequest
    """The request."""
    max_bytes: int
    """The maximum size of the body."""
    seconds: float
    """How long the client may send nothing."""
    _lamb: httpcore.AsyncNetworkStream | None = None

    async def trace(self, event: str, details: Mapping[str, Any]) -> None:
        """Note the connection to LAMB, on which a response may arrive before the body is sent.

        A connection with TLS is not noted: bytes that arrive there need not be a response.
        """
        if event == "connection.connect_tcp.complete":
            self._lamb = details["return_value"]
        elif event == "connection.start_tls.started":
            self._lamb = None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the parts of the body.

        Raises:
            UploadError: The body is too large or too slow.
            ClientGoneError: The client has disconnected.
        """
        size, more = 0, True
        while more:
            message = await self._receive()
            body, more = message["body"], message["more_body"]
            size += len(body)
            if size > self.max_bytes:
                error = too_large(self.request, self.max_bytes)
                raise UploadError(error, "the request's body is too large")
            yield body

    async def _receive(self) -> Message:
        try:
            async with asyncio.timeout(self.seconds):
                message = await self._next()
        except TimeoutError:
            text = "The request's body did not arrive in time."
            error = ErrorResponse(408, text, code="body_timeout", close=True)
            raise UploadError(error, f"the client sent nothing for {self.seconds:g} s") from None
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        return message

    async def _next(self) -> Message:
        """Return the next part.

        Raises:
            WriteError: LAMB has answered or closed. httpcore reads the response then.
        """
        while True:
            if self._lamb is not None and self._lamb.get_extra_info("is_readable"):
                raise httpcore.WriteError
            with suppress(TimeoutError):
                async with asyncio.timeout(_CHECK_SECONDS):
                    return await self.request.receive()


def too_large(request: RawRequest, max_bytes: int) -> ErrorResponse:
    """Return the error for a body that is larger than the limit.

    The connection stays open for the rest of the body: a client that is still sending when it is
    closed often loses the response. One that waits for permission to send may not send it.
    """
    message = f"The request's body is larger than {max_bytes} bytes."
    waits = bool(request.header("expect"))
    return ErrorResponse(413, message, code="request_too_large", close=waits)
