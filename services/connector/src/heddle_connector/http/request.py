"""Requests to providers, and the part of a request that is the same for every call to a URL."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote, urlsplit

import msgspec

DEFAULT_HEADERS = {
    "user-agent": "heddle-connector",
    "accept": "*/*",
    "accept-encoding": "identity",  # a compressor would delay tokens
    "content-type": "application/json",
}
_DEFAULT_PORTS = {"http": 80, "https": 443}
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*")
_RESERVED_HEADERS = frozenset({"connection", "content-length", "transfer-encoding"})
_UNQUOTED = "/%:@!$&'()*+,;=~?"  # a percent sign counts as the start of an escape


class Request(msgspec.Struct, frozen=True):
    """A request to a provider: a POST of JSON, or a GET if it has no body."""

    url: str
    headers: Mapping[str, str]
    seconds: float
    """The time limit, from opening the connection to the last byte of the response."""
    body: bytes | None = None


class Origin(NamedTuple):
    """The server that a connection leads to."""

    host: str
    port: int
    secure: bool
    """Whether the connection uses TLS."""


def authority(origin: Origin) -> str:
    """Return `host:port`."""
    host = f"[{origin.host}]" if ":" in origin.host else origin.host
    return f"{host}:{origin.port}"


@dataclass(frozen=True, slots=True)
class RequestHead:
    """The request line and the headers, without the length of the body."""

    origin: Origin
    data: bytes

    def for_proxy(self) -> bytes:
        """Return the data with the whole URL in the request line, as proxies expect it."""
        method, _, rest = self.data.partition(b" ")
        return b"%b http://%b%b" % (method, authority(self.origin).encode(), rest)


def request_head(request: Request) -> RequestHead:
    """Return the head of `request`.

    Raises:
        ValueError: The URL or a header cannot be sent.
    """
    return _head(request.url, tuple(request.headers.items()), request.body is None)


@lru_cache(maxsize=64)
def _head(url: str, headers: Iterable[tuple[str, str]], is_get: bool) -> RequestHead:  # noqa: FBT001 - positional arguments make the cheaper key
    parts = urlsplit(url)
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname or parts.username is not None:
        raise ValueError("The URL of a request to a provider must be http(s)://host, without user.")
    hostname = parts.hostname
    if not hostname.isascii():
        hostname = hostname.encode("idna").decode()
    host = f"[{hostname}]" if ":" in hostname else hostname
    default_port = _DEFAULT_PORTS[parts.scheme]
    port = parts.port or default_port
    fields = {"host": host if port == default_port else f"{host}:{port}", **DEFAULT_HEADERS}
    for name, value in headers:
        _check_header(name, value)
        fields[name.lower()] = value
    path = quote(parts.path or "/", safe=_UNQUOTED)
    query = f"?{quote(parts.query, safe=_UNQUOTED)}" if parts.query else ""
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    head = f"{'GET' if is_get else 'POST'} {path}{query} HTTP/1.1\r\n{lines}"
    return RequestHead(Origin(hostname, port, parts.scheme == "https"), head.encode())


def _check_header(name: str, value: str) -> None:
    """Reject a header that the provider would read as another header or another request."""
    valid = _HEADER_NAME.fullmatch(name) and _HEADER_VALUE.fullmatch(value)
    if not valid or name.lower() in _RESERVED_HEADERS:
        raise ValueError(f"The header {name!r} cannot be sent to a provider.")
