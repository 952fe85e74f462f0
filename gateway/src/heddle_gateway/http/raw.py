"""One HTTP request and what it is answered with."""

import re
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

import msgspec
from heddle_runtime.call_metadata import REQUEST_ID, TRACE, new_request_id
from starlette.types import Receive, Scope, Send

from heddle_gateway.http.headers import JSON, Headers

if TYPE_CHECKING:
    from heddle_gateway.http.connection import Connection

# The id is written to logs and metadata, so nothing but harmless characters may be in it.
_SANE_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}", re.ASCII)
_OWN = REQUEST_ID.encode()
_TRACE = TRACE.encode()
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}", re.ASCII)


class RawResponse(msgspec.Struct, frozen=True):
    """A whole answer."""

    status: int
    body: bytes
    headers: Headers = JSON

    @classmethod
    def json(cls, value: object, status: int = 200, headers: Headers = ()) -> "RawResponse":
        """Return `value` as an answer, `headers` beside those that every such answer has."""
        return cls(status, msgspec.json.encode(value), (*JSON, *headers))


class RawRequest:
    """A request, read from an ASGI server, and the way back to its client."""

    __slots__ = (
        *("_direct", "gone", "headers", "connection", "parameters", "receive", "request_id"),
        *("scope", "send", "status"),
    )

    def __init__(self, scope: Scope, receive: Receive, send: Send, *, direct: bool) -> None:
        """Take a request.

        Args:
            scope: What is known of it.
            receive: Where its body comes from.
            send: Where its answer goes.
            direct: Nothing stands between `send` and the server that wants to see the answer.
        """
        self.scope = scope
        self.receive = receive
        self.send = send
        # Taken out, because it leads back to the scope: a ring would be left to the collector.
        self.connection: Connection = scope["state"].pop("connection")
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        self.parameters: tuple[str, ...] = ()
        """The parts of the path that the route leaves open."""
        self.gone = False
        """Whether the client closed the connection before it had its answer."""
        self.status = 0
        """The status that was sent, 0 before that."""
        self._direct = direct
        given = self.header(REQUEST_ID) if _OWN in self.headers else ""
        self.request_id = given if given and _SANE_ID.fullmatch(given) else new_request_id()

    @property
    def parameter(self) -> str:
        """The first part of the path that the route leaves open; empty if there is none."""
        return self.parameters[0] if self.parameters else ""

    def header(self, name: str) -> str:
        """Return the value of a header, the last one if it was sent twice, or an empty string."""
        found = self.headers.get(name.encode())
        return found.decode("latin-1") if found else ""

    def query(self, name: str) -> str | None:
        """Return the first value of a query parameter, None if there is none of that name."""
        text = self.scope["query_string"].decode("latin-1")
        found = parse_qs(text, keep_blank_values=True).get(name)
        return found[0] if found else None

    def traceparent(self) -> str:
        """Return the W3C trace context that the client sent, or an empty string."""
        given = self.header(TRACE) if _TRACE in self.headers else ""
        return given if given and _TRACEPARENT.fullmatch(given) else ""

    async def start(self, status: int, headers: Headers) -> None:
        """Send the head of the answer."""
        self.status = status
        own = (_OWN, self.request_id.encode())
        await self.send(
            {"type": "http.response.start", "status": status, "headers": [*headers, own]}
        )

    async def write(self, body: bytes, *, last: bool = False) -> None:
        """Send a piece of the answer's body."""
        await self.send({"type": "http.response.body", "body": body, "more_body": not last})

    def answered(self, reply: RawResponse) -> bool:
        """Send a whole answer at once, if nothing is in the way, and return whether that was so."""
        body = reply.body
        own = b"content-length: %d\r\n%b: %b\r\n" % (len(body), _OWN, self.request_id.encode())
        sent = self._direct and self.connection.respond(reply.status, reply.headers, own, body)
        if sent:
            self.status = reply.status
        return sent

    async def answer(self, reply: RawResponse) -> None:
        """Send a whole answer when it is possible."""
        length = (b"content-length", str(len(reply.body)).encode())
        await self.start(reply.status, (*reply.headers, length))
        await self.write(reply.body, last=True)
