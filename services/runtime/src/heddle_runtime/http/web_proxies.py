"""The proxies through which services reach other servers, as the environment names them."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

_DEFAULT_PORTS = {"http": 80, "https": 443}


class Proxy(NamedTuple):
    """A proxy."""

    host: str
    port: int
    secure: bool
    """Whether the connection to it uses TLS."""
    authorization: str
    """The value of `Proxy-Authorization`; may be empty."""

    @property
    def url(self) -> str:
        """Its address without credentials."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http{'s' if self.secure else ''}://{host}:{self.port}"


def proxy_at(url: str) -> Proxy:
    """Return the proxy at an address such as `http://user:password@proxy.example.org:3128`.

    Raises:
        ValueError: It is no address of an HTTP proxy. The message does not repeat it.
    """
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
        raise ValueError("must be the address of an HTTP proxy, for example http://proxy:3128")
    authorization = ""
    if parts.username is not None:
        credentials = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = f"Basic {base64.b64encode(credentials.encode()).decode()}"
    port = parts.port or _DEFAULT_PORTS[parts.scheme]
    return Proxy(parts.hostname, port, parts.scheme == "https", authorization)


@dataclass(frozen=True, slots=True)
class WebProxies:
    """Selects the proxy of a request. Without proxies, all requests are direct."""

    by_scheme: Mapping[str, Proxy] = field(default_factory=dict)
    """The proxies for `http` and `https`."""
    exceptions: tuple[str, ...] = ()
    """Hosts that are reached without a proxy, as in `NO_PROXY`."""
    resolve_names: bool = False
    """Whether the proxies may resolve names that this machine cannot resolve."""

    def proxy_for(self, scheme: str, host: str, port: int) -> Proxy | None:
        """Return the proxy for a server, None if it is reached directly."""
        proxy = self.by_scheme.get(scheme)
        if proxy is None or any(_covers(each, host, port) for each in self.exceptions):
            return None
        return proxy


NO_PROXIES = WebProxies()


def _covers(exception: str, host: str, port: int) -> bool:
    """Return whether an entry of `NO_PROXY` covers a server.

    An entry is `*`, a host with its subdomains, an address or a network, each also with a port.
    """
    try:
        return ip_address(host) in ip_network(exception, strict=False)
    except ValueError:  # one of them is a name
        name, _, only_port = exception.strip("[]").partition(":")
        if only_port not in ("", str(port)):
            return False
        domain = name.removeprefix("*").removeprefix(".").lower()
        return not domain or f".{host.lower()}".endswith(f".{domain}")
