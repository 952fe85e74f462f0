"""A raw HTTP request and its response, without Starlette's request objects."""

import random
import re
from typing import TYPE_CHECKING, Protocol
from urllib.parse import parse_qs

import msgspec
from heddle_runtime.identity.call_metadata import REQUEST_ID, TRACE, new_request_id
from heddle_runtime.identity.callers import Identity
from starlette.types import Message, Receive, Scope, Send

from heddle_gateway.http.headers import JSON, Headers, check_headers

if TYPE_CHECKING:
    from heddle_gateway.http.connection import Connection

# The id appears in logs and metadata, so it may contain harmless characters only.
_REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}", re.ASCII)
_REQUEST_ID_HEADER = REQUEST_ID.encode()
ANTHROPIC_PATH = "/v1/messages"
"""The path of Anthropic's protocol, whose errors and request ids have forms of their own."""
_ANTHROPIC_ID = b"request-id"
_TRACE_HEADER = TRACE.encode()
_IDS = random.Random()  # noqa: S311 - an id is not a secret
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}", re.ASCII)


def is_traceparent(text: str) -> bool:
    """Return whether a text has the form of a W3C trace context."""
    return _TRACEPARENT.fullmatch(text) is not None


class Admission(Protocol):
    """A running request that counts for a limit."""

    def end(self) -> None:
        """Count the request as complete."""


class Credential(Protocol):
    """The credential that authenticated a request."""

    @property
    def identity(self) -> Identity:
        """The caller."""


class RawResponse(msgspec.Struct, frozen=True):
    """A whole response."""

    status: int
    body: bytes
    headers: Headers = JSON


class RawRequest:
    """A request of an ASGI server, and the way to send its response."""

    __slots__ = (
        *(
            "_direct",
            "_has_own_id",
            "_id_headers",
            "admissions",
            "client_gone",
            "connection",
            "headers",
            "receive",
            "request_id",
        ),
        *("credential", "failed_status", "name", "route", "scope", "send", "status", "trace"),
    )

    def __init__(self, scope: Scope, receive: Receive, send: Send, *, direct: bool) -> None:
        """Take a request.

        Args:
            scope: Its ASGI scope.
            receive: Returns its body.
            send: Sends the response.
            direct: No middleware between `send` and the server needs to see the response.
        """
        self.scope = scope
        self.receive = receive
        self.send = send
        # Removed because it refers to the scope: only the garbage collector would free the cycle.
        self.connection: Connection = scope["state"].pop("connection")
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        self.admissions: tuple[Admission, ...] = ()
        """The admissions that end with the request: its place in limits, and in turns."""
        self.credential: Credential | None = None
        """The credential that authenticated the request; None before, and without a credential."""
        self.name = self.route = "unknown"
        """The name of the route that answers the request, in log lines and metrics."""
        self.client_gone = False
        """Whether the client closed the connection before it had its response."""
        self.status = 0
        """The status that was sent, 0 before that."""
        self.failed_status = 0
        """The status of the failure that ended the response after its head, 0 without one."""
        self._direct = direct
        sent = self.header(REQUEST_ID) if _REQUEST_ID_HEADER in self.headers else ""
        has_own_id = bool(sent and _REQUEST_ID.fullmatch(sent))
        self.request_id = sent if has_own_id else new_request_id()
        identifier = self.request_id.encode()
        self._id_headers: Headers = ((_REQUEST_ID_HEADER, identifier),)
        if scope["path"].startswith(ANTHROPIC_PATH):
            self._id_headers += ((_ANTHROPIC_ID, identifier),)
        self.trace = self._traceparent(has_own_id=has_own_id)
        """The trace context of the calls that the request causes; empty if there is none."""

    def header(self, name: str) -> str:
        """Return the value of a header, the last one if it was sent twice, or an empty string."""
        value = self.headers.get(name.encode())
        return value.decode("latin-1") if value else ""

    def query(self, name: str) -> str | None:
        """Return the first value of a query parameter, None if there is none of that name."""
        text = self.scope["query_string"].decode("latin-1")
        values = parse_qs(text, keep_blank_values=True).get(name)
        return values[0] if values else None

    def _traceparent(self, *, has_own_id: bool) -> str:
        """Return the W3C trace context of the request, or an empty string.

        A request with an id of its client's, and without a trace context, gets a random one, so
        that its log lines have an id that no other request has. It is not sampled.
        """
        sent = self.header(TRACE) if _TRACE_HEADER in self.headers else ""
        if sent and _TRACEPARENT.fullmatch(sent):
            return sent
        if has_own_id:
            return f"00-{_IDS.getrandbits(128):032x}-{_IDS.getrandbits(64):016x}-00"
        return ""

    async def start(self, status: int, headers: Headers) -> None:
        """Send the head of the response."""
        start = {"type": "http.response.start", "status": status, "headers": headers}
        await self.forward(start)

    async def write(self, body: bytes, *, last: bool = False) -> None:
        """Send a part of the response's body."""
        await self.send({"type": "http.response.body", "body": body, "more_body": not last})

    async def forward(self, message: Message) -> None:
        """Send an ASGI message; the head of the response gets the request id.

        Raises:
            ValueError: A header contains a line break. Nothing was sent.
        """
        if message["type"] == "http.response.start":
            headers = [*message.get("headers", ()), *self._id_headers]
            check_headers(headers)
            self.status = message["status"]
            message = {**message, "headers": headers}
        await self.send(message)

    async def respond(self, response: RawResponse) -> None:
        """Send a whole response, in one system call if possible."""
        body = response.body
        own = b"content-length: %d\r\n" % len(body)
        own += b"".join([b"%b: %b\r\n" % header for header in self._id_headers])
        if self._direct and self.connection.respond(response.status, response.headers, own, body):
            self.status = response.status
            return
        length = (b"content-length", str(len(body)).encode())
        await self.start(response.status, (*response.headers, length))
        await self.write(body, last=True)
