"""Header lists as ASGI sends them."""

from collections.abc import Iterable

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
