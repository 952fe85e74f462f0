"""Pages of this machine: the ones that browsers load from the gateway itself."""

import re
from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network
from urllib.parse import urlsplit

from heddle_runtime.http.egress import Network

from heddle_gateway.http.raw import RawRequest

_FORWARDED = b"x-forwarded-for"
_SITE_PREFIX = 64
"""Bits of an address of IPv6 that belong to one site: its clients choose the others."""


def client_address(request: RawRequest, proxies: Iterable[Network]) -> str:
    """Return the address of a client, of IPv6 its network; empty if it is unknown.

    It is that of the connection or, behind trusted proxies, the last one in `X-Forwarded-For` that
    is not a proxy's: clients can write anything before it.
    """
    connection = request.scope["client"]
    forwarded = (
        value.decode("latin-1") for name, value in request.scope["headers"] if name == _FORWARDED
    )
    addresses = [each.strip() for each in ",".join(forwarded).split(",") if each.strip()]
    known = ""
    for text in [connection[0] if connection else "", *reversed(addresses)]:
        try:
            address = ip_address(text)
        except ValueError:
            return known
        if isinstance(address, IPv6Address):
            address = address.ipv4_mapped or address
        known = (
            str(ip_network((address, _SITE_PREFIX), strict=False))
            if isinstance(address, IPv6Address)
            else str(address)
        )
        if not any(address in network for network in proxies):
            break
    return known


_HOST, _ORIGIN = b"host", b"origin"
_LOOPBACK = {"localhost", "127.0.0.1", "::1", ""}
_PAGE = re.compile(r"http://(localhost|127\.0\.0\.1|\[::1\])(:[0-9]{1,5})?")
_HTTP_PORT = 80
_PORTS = {"http": _HTTP_PORT, "https": 443}


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


def comes_from(request: RawRequest, origin: str, public_url: str) -> bool:
    """Return whether an origin is that of the gateway: its public address, or the one it answers.

    A page cannot choose the header Host of its requests.
    """
    try:
        parts, public = urlsplit(origin), urlsplit(public_url)
        if parts.scheme not in _PORTS or parts.path:
            return False
        place = (parts.scheme, parts.hostname, parts.port or _PORTS[parts.scheme])
        if public_url and place == (
            public.scheme,
            public.hostname,
            public.port or _PORTS[public.scheme],
        ):
            return True
        host = urlsplit(f"{parts.scheme}://{request.header('host')}")
        return place == (host.scheme, host.hostname, host.port or _PORTS[host.scheme])
    except ValueError:  # no address at all
        return False
