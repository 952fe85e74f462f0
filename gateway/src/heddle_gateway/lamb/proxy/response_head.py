"""The head of LAMB's response as the client gets it."""

from http import HTTPStatus

from heddle_gateway.lamb.proxy.connection import LambConnection
from heddle_gateway.lamb.proxy.request_head import (
    HOP_BY_HOP,
    OWN_COOKIES,
    Header,
    listed_in_connection,
)

_REPLACED = frozenset((b"x-request-id",))
_WITHOUT_LENGTH = {HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED}
_LENGTH = frozenset((b"content-length",))
_NEVER_DROPPED = _LENGTH | {b"set-cookie", b"content-type", b"content-encoding", b"location"}
"""A server that lists these in `Connection` would change what the response means."""


def response_headers(connection: LambConnection) -> list[Header]:
    """Return the headers of a response that are sent on."""
    headers = connection.headers
    dropped = HOP_BY_HOP | _REPLACED
    if any(name == b"connection" for name, _ in headers):
        dropped |= listed_in_connection(headers) - _NEVER_DROPPED
    if connection.status in _WITHOUT_LENGTH:
        dropped |= _LENGTH
    return [
        header for header in headers if header[0] not in dropped and not _sets_own_cookie(header)
    ]


def switching_head(connection: LambConnection, request_id: str) -> bytes:
    """Return the head of the response that begins with WebSocket messages."""
    lines = [
        b"HTTP/1.1 101 Switching Protocols\r\n",
        b"connection: Upgrade\r\nupgrade: websocket\r\n",
        b"x-request-id: %b\r\n" % request_id.encode("ascii"),
        *(b"%b: %b\r\n" % header for header in response_headers(connection)),
        b"\r\n",
    ]
    return b"".join(lines)


def _sets_own_cookie(header: Header) -> bool:
    """Return whether LAMB sets a cookie of Heddle, which would change who the user is."""
    name, value = header
    return name == b"set-cookie" and value.partition(b"=")[0].strip() in OWN_COOKIES
