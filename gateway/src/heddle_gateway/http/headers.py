"""Header lists as ASGI sends them."""

import re
from collections.abc import Iterable

_HOST = re.compile(r"[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?|\[[0-9A-Fa-f:.]{2,45}\](:[0-9]{1,5})?")


def own_address(public_url: str, scheme: str, host: str) -> str:
    """Return the address without a slash at its end, empty if it is not known.

    Args:
        public_url: The address in the settings, empty if there is none.
        scheme: That of a request.
        host: The header `Host` of the request.
    """
    if public_url:
        return public_url.rstrip("/")
    return f"{scheme}://{host}" if _HOST.fullmatch(host) else ""


Headers = tuple[tuple[bytes, bytes], ...]
JSON: Headers = ((b"content-type", b"application/json"),)
SESSION_COOKIE = "heddle_session"
"""The cookie of a session; over https with `__Host-` before."""
FLOW_COOKIE = "heddle_oidc"
"""The cookie of an attempt to sign in with an identity provider, likewise."""


def check_headers(headers: Iterable[tuple[bytes, bytes]]) -> None:
    """Check headers that may have values of other services.

    Raises:
        ValueError: A header contains a line break or NUL.
    """
    for name, value in headers:
        if (name + value).translate(None, b"\r\n\0") != name + value:
            raise ValueError(f"The header {name!r} contains a line break or NUL.")
