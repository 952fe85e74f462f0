"""Cookies of browsers.

Over https, their names begin with `__Host-`: browsers then accept them from this host only, for all
paths and over https only.
"""

from typing import Literal
from urllib.parse import urlsplit

from heddle_gateway.http.raw import RawRequest

_COOKIE = b"cookie"


def cookie_value(request: RawRequest, name: str, public_url: str) -> str:
    """Return the value of a cookie; empty if there is none, or several differ."""
    if _COOKIE not in request.headers:
        return ""
    beginning = f"{_name(name, public_url)}="
    headers = (value for header, value in request.scope["headers"] if header == _COOKIE)
    pairs = map(str.strip, b";".join(headers).decode("latin-1").split(";"))
    values = {pair.removeprefix(beginning) for pair in pairs if pair.startswith(beginning)}
    return values.pop() if len(values) == 1 else ""


def set_cookie(
    name: str,
    value: str,
    seconds: int,
    same_site: Literal["Strict", "Lax", "None"],
    public_url: str,
) -> str:
    """Return the value of `Set-Cookie` that stores a cookie, or removes it with 0 seconds.

    With `None`, the cookie is for frames: browsers store it for each site around the frame.
    """
    secure = "; Secure" if _is_secure(public_url) or same_site == "None" else ""
    partitioned = "; Partitioned" if same_site == "None" else ""
    attributes = f"Path=/; Max-Age={seconds}; HttpOnly; SameSite={same_site}{secure}{partitioned}"
    return f"{_name(name, public_url)}={value}; {attributes}"


def _name(name: str, public_url: str) -> str:
    return f"__Host-{name}" if _is_secure(public_url) else name


def _is_secure(public_url: str) -> bool:
    return urlsplit(public_url).scheme == "https"
