"""Which version of a thing a client has read."""

from heddle_gateway.http.headers import Headers
from heddle_gateway.http.raw import RawRequest

_NONE = '""'  # no version is written like this


def header(etag: str) -> Headers:
    """Return the header that tells the version of what is answered."""
    return ((b"etag", f'"{etag}"'.encode()),)


def is_known(exchange: RawRequest, etag: str) -> bool:
    """Say whether the client has the version that would be answered."""
    if b"if-none-match" not in exchange.headers:
        return False
    given = exchange.header("if-none-match")
    read = {each.strip().removeprefix("W/").strip('"') for each in given.split(",")}
    return etag in read or given.strip() == "*"


def expected(exchange: RawRequest) -> str:
    """Return the version that a change is meant for; empty if any will do.

    Proxies that compress an answer make its etag a weak one; it names the same version. What is no
    etag at all names none that there is.
    """
    if b"if-match" not in exchange.headers:
        return ""
    given = exchange.header("if-match").strip()
    if given == "*":
        return ""
    return given.removeprefix("W/").strip('"') or _NONE
