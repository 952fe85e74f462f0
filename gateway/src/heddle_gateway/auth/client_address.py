"""The network address of a client, which limits failures to sign in."""

from collections.abc import Iterable
from ipaddress import IPv6Address, ip_address, ip_network

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
