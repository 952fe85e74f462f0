"""Finds the replicas of a service: at one address, a list, or names that DNS knows."""

import asyncio
import ipaddress
import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass

_LISTS = ("ipv4:", "ipv6:")
_NAME = "dns:"
_UNIX = "unix:"
_PORTS = range(1, 65_536)
_ABSENT = (socket.EAI_NONAME, socket.EAI_NODATA)
"""Errors of lookups that say that a name has no address, and not that DNS does not answer."""
_HOST = re.compile(r"[A-Za-z0-9._-]+|\[?[0-9A-Fa-f:.]+\]?")


@dataclass(frozen=True, slots=True)
class Location:
    """The address of one replica."""

    target: str
    """Its address for gRPC."""
    authority: str = ""
    """The host and port that its certificate names; empty for those of the target."""

    def __str__(self) -> str:
        scheme = next((each for each in _LISTS if self.target.startswith(each)), "")
        return self.target.removeprefix(scheme)


@dataclass(frozen=True, slots=True)
class Host:
    """An entry of a service's address."""

    name: str
    port: int

    @property
    def is_literal(self) -> bool:
        """Whether it is an IP address, and not a name to look up."""
        try:
            ipaddress.ip_address(self.name)
        except ValueError:
            return False
        return True

    def __str__(self) -> str:
        return _joined(self.name, self.port)


@dataclass(frozen=True, slots=True)
class ServiceAddress:
    """The address of a service, which names one or more replicas."""

    single: str = ""
    """The only replica, which gRPC finds by itself; empty if there are hosts."""
    hosts: tuple[Host, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether the replicas must be looked up, again and again."""
        return any(not host.is_literal for host in self.hosts)

    @property
    def locations(self) -> list[Location]:
        """The replicas that are known without a lookup."""
        if self.single:
            return [Location(self.single)]
        literals = [host for host in self.hosts if host.is_literal]
        # A client of several addresses has one connection to all of them, so their certificates
        # have one host in common (docs/connections.md).
        return [_location(host.name, host.port, str(literals[0])) for host in literals]

    async def resolve(self) -> list[Location]:
        """Look all names up, and return the replicas in the order of the hosts.

        Raises:
            OSError: A name cannot be looked up, or there are no replicas.
        """
        literals = iter(self.locations)
        addresses = await asyncio.gather(
            *(_looked_up(host) for host in self.hosts if not host.is_literal)
        )
        names = iter(addresses)
        locations: dict[str, Location] = {}
        for host in self.hosts:
            for each in [next(literals)] if host.is_literal else next(names):
                locations.setdefault(each.target, each)
        if not locations:
            raise OSError("the names have no addresses")
        return list(locations.values())


def parse(address: str) -> ServiceAddress:
    """Return the replicas of `HOST:PORT`, `HOST:PORT,HOST:PORT`, `dns:///NAME:PORT` or `unix:/…`.

    A host is an IP address or a name; all addresses of a name are replicas. `ipv4:` before a list
    changes nothing. `localhost` is this machine, and one replica.

    Raises:
        ValueError: The address is of none of these forms.
    """
    if address.startswith(_UNIX):
        return ServiceAddress(single=address)
    text = address
    for prefix in (*_LISTS, f"{_NAME}///", _NAME):
        text = text.removeprefix(prefix)
    hosts = tuple(_host(entry.strip()) for entry in text.split(","))
    if len(hosts) == 1 and (hosts[0].is_literal or hosts[0].name == "localhost"):
        return ServiceAddress(single=text)
    return ServiceAddress(hosts=hosts)


def list_target(locations: Iterable[Location]) -> str:
    """Return the target that gRPC understands as all `locations`; those of IPv4 if there are any.

    gRPC has no target for addresses of both kinds.
    """
    targets = [each.target for each in locations]
    for scheme in _LISTS:
        if of_scheme := [it.removeprefix(scheme) for it in targets if it.startswith(scheme)]:
            return scheme + ",".join(of_scheme)
    return targets[0]


def replica_locations(address: str) -> list[Location]:
    """Return the location of each replica of `address`, for a short-lived synchronous client.

    A name that cannot be looked up is left to gRPC, which reports why.

    Raises:
        ValueError: The address is of no form that `parse` knows.
    """
    parsed = parse(address)
    try:
        return asyncio.run(parsed.resolve()) if parsed.changes else parsed.locations
    except OSError:
        return [Location(f"dns:///{parsed.hosts[0]}")]


def single_location(address: str) -> Location:
    """Return the location of all replicas of `address`, for a short-lived synchronous client.

    Raises:
        ValueError: The address is of no form that `parse` knows.
    """
    parsed = parse(address)
    if parsed.single or (parsed.changes and len(parsed.hosts) == 1):
        return Location(parsed.single or f"dns:///{parsed.hosts[0]}")
    locations = replica_locations(address)
    return Location(list_target(locations), locations[0].authority)


def _host(entry: str) -> Host:
    name, _, port = entry.rpartition(":")
    is_port = port.isascii() and port.isdecimal() and int(port[:6]) in _PORTS
    if not is_port or not _HOST.fullmatch(name):
        message = (
            f"{entry!r} is no address: write HOST:PORT, HOST:PORT,HOST:PORT, dns:///NAME:PORT or "
            "unix:/PATH"
        )
        raise ValueError(message)
    return Host(name.strip("[]"), int(port))


async def _looked_up(host: Host) -> list[Location]:
    """Return the addresses of a name: those of IPv4 if there are any.

    A replica with addresses of both kinds would otherwise be taken for two.
    """
    loop = asyncio.get_running_loop()
    try:
        answers = await loop.getaddrinfo(host.name, host.port, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        if error.errno in _ABSENT:
            return []
        raise
    of_v4 = [answer for answer in answers if answer[0] == socket.AF_INET]
    addresses = dict.fromkeys(str(answer[4][0]) for answer in of_v4 or answers)
    return [_location(each, host.port, str(host)) for each in addresses]


def _location(ip: str, port: int, authority: str) -> Location:
    scheme = "ipv6:" if ":" in ip else "ipv4:"
    return Location(f"{scheme}{_joined(ip, port)}", authority)


def _joined(name: str, port: int) -> str:
    return f"[{name}]:{port}" if ":" in name else f"{name}:{port}"
