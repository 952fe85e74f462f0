"""The way to providers on the local network: plain HTTP, with nothing that costs and is not needed.

No redirects, no proxies, no cookies, no compression.
"""

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote, urlsplit

from heddle_runtime.errors import UnavailableError

from heddle_connector.http import errors as http_errors
from heddle_connector.http.connection import Exchange
from heddle_connector.http.pool import Place, Pool
from heddle_connector.http.request import DEFAULTS, Request

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*")
_OURS = frozenset({"connection", "content-length", "transfer-encoding"})
_SAFE = "/%:@!$&'()*+,;=~?"  # stay as they are; a percent sign is taken for an escape


@dataclass(frozen=True, slots=True)
class Address:
    """What of a request is the same for every one to the same URL."""

    place: Place
    head: bytes
    """Everything up to the length of the body."""


class PlainHttp:
    """Sends requests, each once."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def send(
        self, address: Address, request: Request, seconds: float, *, whole: bool, fresh: bool
    ) -> Exchange:
        """Send `request`, and return the answer when its head is here.

        Args:
            address: Of the request.
            request: The request.
            seconds: The time for everything.
            whole: Return only when the answer is complete.
            fresh: Do not use a connection that has served before.
        """
        connection = None if fresh else self._pool.idle(address.place)
        if connection is None:
            begun = time.monotonic()
            connection = await self._pool.connect(address.place, request.url, seconds)
            seconds = max(0.0, seconds - (time.monotonic() - begun))
        body = request.body
        ending = b"\r\n" if body is None else b"content-length: %d\r\n\r\n%b" % (len(body), body)
        exchange = connection.send(address.head + ending, seconds, whole=whole)
        try:
            await exchange.begun()
        except UnavailableError as error:
            cause = error.__cause__
            if not isinstance(cause, Exception):
                raise
            raise http_errors.unreachable(request.url, cause) from cause
        except BaseException:
            exchange.close()
            raise
        return exchange


def address(request: Request) -> Address | None:
    """Return the address of `request`, or None if it is none of plain HTTP.

    Raises:
        ValueError: A header cannot be sent.
    """
    if not request.url.startswith("http://"):
        return None
    return _address(request.url, tuple(request.headers.items()), request.body is None)


@lru_cache(maxsize=64)
def _address(url: str, headers: Iterable[tuple[str, str]], reads: bool) -> Address | None:  # noqa: FBT001 - positional arguments make the cheaper key
    parts = urlsplit(url)
    if parts.username is not None or not parts.hostname or not parts.hostname.isascii():
        return None  # a password, or a name to be encoded: rare, and aiohttp knows how
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    port = parts.port or 80
    fields = {"host": host if port == 80 else f"{host}:{port}", **DEFAULTS}  # noqa: PLR2004 - HTTP's port
    for name, value in headers:
        _check(name, value)
        fields[name.lower()] = value
    path = quote(parts.path or "/", safe=_SAFE)
    query = f"?{quote(parts.query, safe=_SAFE)}" if parts.query else ""
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    head = f"{'GET' if reads else 'POST'} {path}{query} HTTP/1.1\r\n{lines}"
    return Address((parts.hostname, port), head.encode())


def _check(name: str, value: str) -> None:
    """Refuse what would be read as another header, or as another request."""
    if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value) or name.lower() in _OURS:
        raise ValueError(f"The header {name!r} cannot be sent to a provider.")
