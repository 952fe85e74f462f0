"""Sends the requests of the MCP SDK with the HTTP client of the tool service.

That client decides which addresses may be reached.
"""

from collections.abc import AsyncIterator, Iterable
from http import HTTPStatus

import httpx
import httpx2
from heddle_runtime.contract.json_text import MAX_VALUES, values_in
from heddle_runtime.contract.unicode_text import valid_json
from heddle_runtime.http.egress import SETTING, ForbiddenAddressError
from heddle_runtime.http.remote_json import refuse_compressed, request_uncompressed

from heddle_tools_service.providers.remote import tool_errors
from heddle_tools_service.sdk import ToolError, ToolUnavailableError

MAX_TRAFFIC_BYTES = 4 * 1024 * 1024
"""The maximum number of bytes that a server may send in one use of a session."""
_SILENCE = httpx.Timeout(600.0, connect=10.0)
"""Seconds that a server may be silent; callers have shorter timeouts."""
_DELETE_SECONDS = 1.0
"""Seconds for telling a server that a session is over."""
_OWN_HEADERS = {b"host", b"content-length", b"transfer-encoding", b"accept-encoding", b"connection"}


class HttpBridge(httpx2.AsyncBaseTransport):
    """Sends the SDK's requests with another client, and records why the last one failed."""

    def __init__(self, http: httpx.AsyncClient, who: str) -> None:
        """Take the client.

        Args:
            http: Follows no redirects and keeps no cookies.
            who: The server, as messages name it.
        """
        self._http = http
        self._who = who
        self._left = MAX_TRAFFIC_BYTES
        self._values_left = MAX_VALUES
        self.failure: ToolError | None = None
        """Why the last message to the server failed. The SDK's error has fewer details."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request. The answer's body is read later."""
        asking = request.method == "POST"
        body = await request.aread()
        sent = self._http.build_request(
            request.method,
            str(request.url),
            content=body,
            timeout=_DELETE_SECONDS if request.method == "DELETE" else _SILENCE,
        )
        sent.headers.update(httpx.Headers(_forwarded(request.headers.raw)))
        request_uncompressed(sent)
        try:
            response = await self._http.send(sent, stream=True)
        except (ForbiddenAddressError, httpx.HTTPError, httpx.InvalidURL) as error:
            if asking:
                self.failure = self._failure(error)
            raise httpx2.ConnectError("failed", request=request) from error
        if asking:
            self.failure = self._refusal(response.status_code)
        try:
            with tool_errors():
                refuse_compressed(response, self._who)
        except ToolError as error:
            await response.aclose()
            self.failure = error
            raise httpx2.DecodingError("compressed", request=request) from error
        return httpx2.Response(
            response.status_code,
            headers=_forwarded(response.headers.raw),
            stream=_Body(self, response),
            request=request,
        )

    def renew(self) -> None:
        """Restore the limits of traffic for a new use of the session."""
        self._left = MAX_TRAFFIC_BYTES
        self._values_left = MAX_VALUES
        self.failure = None

    def take(self, size: int) -> None:
        """Count received bytes.

        Raises:
            httpx2.ReadError: It is too much.
        """
        self._left -= size
        if self._left < 0:
            megabytes = MAX_TRAFFIC_BYTES // 1024**2
            self.failure = ToolError(f"{self._who} answers with more than {megabytes} MiB.")
            raise httpx2.ReadError("too much")

    def take_lines(self, lines: bytes) -> None:
        """Count the values in whole lines, before the SDK parses them.

        Raises:
            httpx2.ReadError: There are too many.
        """
        self._values_left -= sum(map(values_in, lines.splitlines()))
        if self._values_left < 0:
            self.failure = ToolError(f"{self._who} answers with more than {MAX_VALUES:,} values.")
            raise httpx2.ReadError("too many values")

    def broken(self, error: httpx.HTTPError) -> None:
        """Record that an answer broke off."""
        self.failure = self._failure(error)

    def _failure(self, error: Exception) -> ToolError:
        match error:
            case ForbiddenAddressError():
                return ToolError(
                    f"{self._who} is in a private network. Ask the operator to allow it.",
                    diagnosis=f"{SETTING} does not allow the address.",
                )
            case httpx.TimeoutException():
                return ToolUnavailableError(f"{self._who} did not answer in time.")
            case httpx.InvalidURL():
                return ToolError(f"{self._who} has no address that can be called.")
            case _:
                return ToolUnavailableError(f"{self._who} does not answer.")

    def _refusal(self, status: int) -> ToolError | None:
        match status:
            case HTTPStatus.UNAUTHORIZED | HTTPStatus.FORBIDDEN:
                return ToolError(
                    f"{self._who} refuses access ({status}). Check the binding's credential."
                )
            case HTTPStatus.TOO_MANY_REQUESTS:
                return ToolUnavailableError(f"{self._who} is busy ({status}).")
            case _ if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                return ToolUnavailableError(f"{self._who} answers {status}.")
            case _ if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
                return ToolError(
                    f"{self._who} redirects ({status}) to another place. Configure its final "
                    "address."
                )
            case _ if status >= HTTPStatus.BAD_REQUEST:
                return ToolError(f"{self._who} answers {status}. Is the address that of its MCP?")
            case _:
                return None


class _Body(httpx2.AsyncByteStream):
    def __init__(self, bridge: HttpBridge, response: httpx.Response) -> None:
        self._bridge = bridge
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        rest = bytearray()
        try:
            async for piece in self._response.aiter_raw():
                self._bridge.take(len(piece))
                end = max(piece.rfind(b"\n"), piece.rfind(b"\r")) + 1
                if end:
                    lines = bytes(rest) + piece[:end]
                    rest.clear()
                    self._bridge.take_lines(lines)
                    yield _valid(lines)
                rest += piece[end:]
        except httpx.HTTPError as error:
            self._bridge.broken(error)
            raise httpx2.ReadError("broken off") from error
        self._bridge.take_lines(bytes(rest))
        yield _valid(bytes(rest))

    async def aclose(self) -> None:
        await self._response.aclose()


def _valid(lines: bytes) -> bytes:
    """Return lines of JSON in valid Unicode, which the SDK requires."""
    return valid_json(lines.decode(errors="replace")).encode()


def _forwarded(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    return [pair for pair in headers if pair[0].lower() not in _OWN_HEADERS]
