"""Pages of this machine: the ones that browsers load from the gateway itself."""

import re
from functools import lru_cache
from urllib.parse import urlsplit

from heddle_gateway.http.raw import RawRequest

_HOST, _ORIGIN = b"host", b"origin"
_LOOPBACK = {"localhost", "127.0.0.1", "::1", ""}
_PAGE = re.compile(r"http://(localhost|127\.0\.0\.1|\[::1\])(:[0-9]{1,5})?")
_HTTP_PORT = 80


def origin_of(request: RawRequest) -> str:
    """Return the web site whose page sent a request; empty if no page of another site did."""
    return request.header("origin") if _ORIGIN in request.headers else ""


def calls_this_machine(request: RawRequest) -> bool:
    """Return whether a request names this machine. A name that was rebound to it does not."""
    return _loopback_port(b"//" + request.headers.get(_HOST, b"")) is not None


def is_own_page(request: RawRequest) -> bool:
    """Return whether a request comes from a page that was loaded from this machine and port.

    Another port is another program.
    """
    origin = origin_of(request)
    if not _PAGE.fullmatch(origin):
        return False
    port = _loopback_port(b"//" + request.headers.get(_HOST, b""))
    return port is not None and port == _loopback_port(origin.encode())


@lru_cache(maxsize=16)  # nearly all requests have the same host
def _loopback_port(url: bytes) -> int | None:
    """Return the port of a URL of this machine, None for other and for invalid URLs."""
    try:
        parts = urlsplit(url.decode("latin-1"))
        host, port = parts.hostname or "", parts.port or _HTTP_PORT
    except ValueError:  # no address at all
        return None
    return port if host in _LOOPBACK else None
