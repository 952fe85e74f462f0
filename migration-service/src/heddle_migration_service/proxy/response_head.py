"""The head of LAMB's response as the client gets it."""

from http import HTTPStatus

import httpx

from heddle_migration_service.proxy.failures import GarbledError
from heddle_migration_service.proxy.request_head import (
    HOP_BY_HOP,
    OWN_COOKIES,
    Header,
    listed_in_connection,
)

_REPLACED = frozenset((b"x-request-id",))
_WITHOUT_LENGTH = {HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED}
_LAST_STATUS = 599
_LENGTH = frozenset((b"content-length",))
_FRAMES = _LENGTH | {b"transfer-encoding"}
_NEVER_DROPPED = _LENGTH | {b"set-cookie", b"content-type", b"content-encoding", b"location"}
"""A server that lists these in `Connection` would change what the response means."""


def response_headers(response: httpx.Response) -> list[Header]:
    """Return the headers of a response that are sent on.

    Raises:
        GarbledError: The response can be read in two ways, or has an unknown kind of status.
    """
    if response.status_code > _LAST_STATUS:
        raise GarbledError(f"the status {response.status_code} is not expected")
    headers = [(name.lower(), value) for name, value in response.headers.raw]
    if {name for name, _ in headers} >= _FRAMES:
        raise GarbledError("it has a length and a transfer coding")
    dropped = HOP_BY_HOP | _REPLACED
    if any(name == b"connection" for name, _ in headers):
        dropped |= listed_in_connection(headers) - _NEVER_DROPPED
    if response.status_code in _WITHOUT_LENGTH:
        dropped |= _LENGTH
    return [
        header for header in headers if header[0] not in dropped and not _sets_own_cookie(header)
    ]


def switching_head(response: httpx.Response, request_id: str) -> bytes:
    """Return the head of the response that begins with WebSocket messages."""
    lines = [
        b"HTTP/1.1 101 Switching Protocols\r\n",
        b"connection: Upgrade\r\nupgrade: websocket\r\n",
        b"x-request-id: %b\r\n" % request_id.encode("ascii"),
        *(b"%b: %b\r\n" % header for header in response_headers(response)),
        b"\r\n",
    ]
    return b"".join(lines)


def _sets_own_cookie(header: Header) -> bool:
    """Return whether LAMB sets a cookie of Heddle, which would change who the user is."""
    name, value = header
    return name == b"set-cookie" and value.partition(b"=")[0].strip() in OWN_COOKIES
