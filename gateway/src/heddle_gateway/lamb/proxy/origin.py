"""The one place that requests are sent to."""

import ssl
from dataclasses import dataclass, field
from urllib.parse import urlsplit

_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Origin:
    """Where LAMB is. No request can name another place."""

    host: str
    port: int
    authority: bytes
    """The value of `Host` for clients that send none."""
    tls: ssl.SSLContext | None = field(repr=False)


def origin_of_url(url: str) -> Origin:
    """Return the origin of an address that the settings have accepted."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    tls = ssl.create_default_context() if parts.scheme == "https" else None
    return Origin(host, parts.port or _PORTS[parts.scheme], parts.netloc.encode("ascii"), tls)
