"""Restricts the addresses at which servers of organisations may be.

An organisation's administrator is not the operator. So the addresses that an administrator sets
must not lead to servers that only this machine, its network or its cloud can reach, even if the
registries call such an address public (see `_INTERNAL`). A host name is resolved once, and the
connection goes to a resolved address: a name that changes between two look-ups has no effect.
Clients follow no redirects.
"""

import asyncio
import errno
import re
import socket
from collections.abc import Iterable
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import Annotated
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, field_validator
from pydantic_settings import NoDecode

from heddle_runtime.http.web_proxies import WebProxies, proxy_at
from heddle_runtime.settings.service import ServiceSettings

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
SETTING = "HEDDLE_ALLOWED_PRIVATE_NETWORKS"
MAX_ADDRESS_CHARACTERS = 2_048
_NO_ADDRESS = "must be an http or https address"
_BLANK = re.compile(r"\s")
_NAT64 = IPv6Network("64:ff9b::/96")
_UNICAST = IPv6Network("2000::/3")
"""The addresses of IPv6 that are assigned for routing."""
_INTERNAL: tuple[Network, ...] = tuple(
    map(
        ip_network,
        (
            "192.0.0.0/24",
            "168.63.129.16/32",
            *("199.36.153.4/30", "199.36.153.8/30", "35.199.192.0/19"),
            *("2600:2d00:2:1000::/56", "2600:2d00:2:2000::/56"),
            *("161.26.0.0/16", "166.8.0.0/14"),
            *("183.60.82.98/32", "183.60.83.19/32"),
        ),
    )
)
"""Networks that registries and Python report as public, and that only a cloud's own machines reach.

- 192.0.0.0/24: protocol assignments (IANA, RFC 6890). Oracle's first cloud has its metadata service
  at 192.0.0.192 (Oracle Cloud Infrastructure Compute Classic, "Retrieving Instance Metadata").
- 168.63.129.16: Azure's platform, among others its wire server, which hands out certificates and
  configuration (Microsoft Learn, "What is IP address 168.63.129.16?").
- 199.36.153.4/30, 199.36.153.8/30 and the networks of IPv6: Google's APIs for machines without an
  external address; 35.199.192.0/19: Cloud DNS (Google Cloud, "Private Google Access", "DNS server
  policies").
- 161.26.0.0/16, 166.8.0.0/14: services and service endpoints of IBM Cloud (IBM Cloud Docs, "Service
  endpoints available for VPC").
- 183.60.82.98, 183.60.83.19: name servers inside Tencent Cloud (Tencent Cloud, "Private Network
  Access").

Metadata services at other addresses are not public anyway: link-local ones (169.254.0.0/16,
fe80::/10), Alibaba's 100.100.100.200 in 100.64.0.0/10, and the unique local ones of Amazon
(fd00:ec2::254), Google (fd20:ce::254) and Oracle (fd00:c1::a9fe:a9fe).
"""


class ForbiddenAddressError(OSError):
    """The address is in a private network that the operator has not allowed."""

    def __init__(self) -> None:
        super().__init__(errno.EACCES, "the address is in a private network")


def server_address(url: str) -> str:
    """Return the address of a server without a slash at the end.

    Raises:
        ValueError: It is no address of a server. The message does not repeat it.
    """
    parts = _web_address(url)
    if parts is None:
        raise ValueError(_NO_ADDRESS)
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError("must hold no credentials, query or fragment")
    return url.rstrip("/")


ServerAddress = Annotated[str, AfterValidator(lambda url: server_address(url) if url else "")]
"""The type of a setting with the address of a server, empty if there is none."""


def document_address_problem(url: str) -> str:
    """Return the rule that the address of a document breaks; empty if it breaks none."""
    if len(url) > MAX_ADDRESS_CHARACTERS:
        return f"must have at most {MAX_ADDRESS_CHARACTERS:,} characters"
    parts = _web_address(url)
    if parts is None or _BLANK.search(url):
        return _NO_ADDRESS
    return "must hold no password" if "@" in parts.netloc else ""


def _web_address(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        _ = parts.port  # parsed when it is read
    except ValueError:
        return None
    # `urlsplit` drops line breaks and tabs.
    is_web = parts.scheme in {"http", "https"} and parts.hostname and url.isprintable()
    return parts if is_web else None


def _split_networks(value: object) -> object:
    if not isinstance(value, str):
        return value
    return tuple(_network(text.strip()) for text in value.split(",") if text.strip())


def _network(text: str) -> Network:
    try:
        return ip_network(text, strict=False)
    except ValueError:
        raise ValueError(f"{text!r} is no network such as 10.0.0.0/8") from None


Networks = Annotated[tuple[Network, ...], NoDecode, BeforeValidator(_split_networks)]
"""The type of a setting with networks, which commas separate."""
ServerToken = Annotated[SecretStr, Field(description="The token of that server. Sent to no other.")]
ServerKey = Annotated[SecretStr, Field(description="The key of that server. Sent to no other.")]
NO_SECRET = SecretStr("")


class EgressSettings(ServiceSettings):
    """Settings of a service that handles the addresses of organisations' servers."""

    private_networks: Networks = Field(
        default=(),
        validation_alias=SETTING,
        description="Private networks, separated by commas, in which organisations' own providers, "
        "knowledge-base servers and Moodles may be, for example 172.16.0.0/12 for containers of "
        "this machine. If empty, only public addresses are allowed. Servers of this "
        "environment and of the system's organisation may have any address.",
    )
    http_proxy: SecretStr | None = Field(
        default=None,
        validation_alias="HTTP_PROXY",
        description="The proxy for http://, for example http://proxy.example.org:3128, with "
        "`user:password@` in front of the host if it requires them.",
    )
    https_proxy: SecretStr | None = Field(
        default=None,
        validation_alias="HTTPS_PROXY",
        description="The proxy for https://, which must accept CONNECT.",
    )
    no_proxy: str = Field(
        default="",
        validation_alias="NO_PROXY",
        description="What is reached without a proxy, separated by commas: hosts with their "
        "subdomains, addresses and networks such as 10.0.0.0/8, also with a port, or *.",
    )
    proxy_resolves_names: bool = Field(
        default=False,
        validation_alias="HEDDLE_PROXY_RESOLVES_NAMES",
        description="Whether the proxies connect organisations to servers whose names cannot be "
        "resolved here. Then only the proxies keep them out of private networks.",
    )

    @property
    def proxies(self) -> WebProxies:
        """The proxies through which other servers are reached."""
        urls = {"http": self.http_proxy, "https": self.https_proxy}
        return WebProxies(
            {scheme: proxy_at(url.get_secret_value()) for scheme, url in urls.items() if url},
            tuple(each.strip() for each in self.no_proxy.split(",") if each.strip()),
            self.proxy_resolves_names,
        )

    @field_validator("http_proxy", "https_proxy")
    @classmethod
    def _is_proxy(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None:
            proxy_at(value.get_secret_value())
        return value


class Egress:
    """The policy that decides which addresses may be connected to."""

    def __init__(self, allowed: Iterable[Network] = ()) -> None:
        self._allowed = tuple(allowed)

    def permits(self, address: str) -> bool:
        """Return whether an IP address is public or in an allowed network."""
        reached = _reached(ip_address(address.partition("%")[0]))
        if any(reached in network for network in self._allowed):
            return True
        return _is_public(reached)

    async def addresses(self, host: str, port: int) -> list[str]:
        """Return the addresses of a host that may be connected to; at least one.

        Raises:
            ForbiddenAddressError: All addresses of the host are forbidden.
            OSError: The host is unknown.
            UnicodeError: The text cannot be the name of a host.
        """
        loop = asyncio.get_running_loop()
        candidates = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = [str(sockaddr[0]) for *_, sockaddr in candidates]
        permitted = [address for address in addresses if self.permits(address)]
        if not permitted:
            raise ForbiddenAddressError
        return permitted


async def check_proxied(proxies: WebProxies, egress: Egress | None, host: str, port: int) -> None:
    """Check the address of a server before a proxy connects to it.

    Raises:
        ForbiddenAddressError: The address is forbidden.
        OSError: The name cannot be resolved, and the proxies may not resolve it.
        UnicodeError: The text cannot be the name of a host.
    """
    if egress is None:
        return
    try:
        await egress.addresses(host, port)
    except socket.gaierror:
        if not proxies.resolve_names:
            raise


def _is_public(address: Address) -> bool:
    if isinstance(address, IPv6Address) and address not in _UNICAST:
        return False
    if not address.is_global or address.is_multicast:
        return False
    return not any(address in network for network in _INTERNAL)


def _reached(address: Address) -> Address:
    """Return the address that packets reach: some IPv6 addresses stand for an IPv4 address.

    Mapped addresses (RFC 4291), NAT64 (RFC 6052) and 6to4 (RFC 3056) are converted. Those of Teredo
    (RFC 4380) stay: the whole of 2001::/32 is not public.
    """
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(address.packed[-4:])
    return address.ipv4_mapped or address.sixtofour or address
