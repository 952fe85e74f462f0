"""The head of a request as LAMB gets it."""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address

from heddle_runtime.egress import Network

from heddle_gateway.auth.issued_keys import PREFIX
from heddle_gateway.http.headers import FLOW_COOKIE, SESSION_COOKIE
from heddle_gateway.http.raw import RawRequest
from heddle_gateway.lamb.proxy.targets import check_target, rejected

Header = tuple[bytes, bytes]
HOP_BY_HOP = frozenset(
    (
        *(b"connection", b"keep-alive", b"proxy-connection", b"proxy-authenticate"),
        *(b"proxy-authorization", b"te", b"trailer", b"transfer-encoding", b"upgrade"),
        *(b"http2-settings", b"proxy-authentication-info"),
    )
)
"""Headers that concern one connection only."""
OWN_COOKIES = tuple(
    prefix + name.encode() for name in (SESSION_COOKIE, FLOW_COOKIE) for prefix in (b"", b"__Host-")
)
"""Cookies that Heddle alone sets and reads."""
_REPLACED = frozenset(
    (
        *(b"host", b"content-length", b"expect", b"forwarded", b"x-request-id"),
        *(b"x-forwarded-for", b"x-forwarded-proto", b"x-forwarded-host", b"x-forwarded-port"),
        *(b"x-forwarded-server", b"x-real-ip"),
    )
)
"""Headers that the gateway writes itself, or that only it may write."""
_ISSUED_KEY = f"bearer {PREFIX}".encode()
_IDEMPOTENT = {"GET", "HEAD", "OPTIONS", "PUT", "DELETE"}
_WITH_BODY = {"POST", "PUT", "PATCH"}
_REFUSED = {"CONNECT", "TRACE"}


@dataclass(frozen=True, slots=True)
class RequestHead:
    """The head of a request for LAMB."""

    lines: bytes
    """All but the length of the body and the empty line."""
    method: str
    length: int | None
    """The length of the body; None if it is sent in chunks."""
    has_length: bool
    """Whether the request says whether it has a body."""
    is_upgrade: bool
    """Whether the client offers to continue with WebSocket messages."""

    @property
    def repeatable(self) -> bool:
        """Whether sending the request twice is the same as sending it once."""
        return self.method in _IDEMPOTENT and not self.is_upgrade

    def whole(self, body: bytes) -> bytes:
        """Return the request with its whole body."""
        if self.is_upgrade:
            return self.lines + b"connection: Upgrade\r\nupgrade: websocket\r\n\r\n"
        if body or self.has_length or self.method in _WITH_BODY:
            return b"%bcontent-length: %d\r\n\r\n%b" % (self.lines, len(body), body)
        return self.lines + b"\r\n"

    def streamed(self) -> bytes:
        """Return the head of a request whose body follows."""
        if self.length is None:
            return self.lines + b"transfer-encoding: chunked\r\n\r\n"
        return b"%bcontent-length: %d\r\n\r\n" % (self.lines, self.length)


class RequestHeads:
    """Makes the heads of requests for LAMB."""

    def __init__(self, authority: bytes, proxies: Iterable[Network], public_url: str) -> None:
        """Prepare.

        Args:
            authority: The host of requests that name none.
            proxies: Networks of reverse proxies before the gateway.
            public_url: The address of the gateway for clients.
        """
        self._authority = authority
        self._proxies = tuple(proxies)
        self._scheme = b"https" if public_url.startswith("https:") else b"http"

    def make(self, request: RawRequest) -> RequestHead:
        """Return the head of a request for LAMB.

        Raises:
            RejectedRequestError: Servers could understand the request differently.
        """
        scope = request.scope
        method: str = scope["method"]
        if method in _REFUSED:
            raise rejected(f"The method {method} is not supported.", 405, "method_not_allowed")
        check_target(request)
        headers: list[Header] = scope["headers"]
        target = scope["raw_path"]
        if scope["query_string"]:
            target = b"%b?%b" % (target, scope["query_string"])
        passed = _end_to_end(headers)
        lines = [b"%b %b HTTP/1.1\r\n" % (method.encode("ascii"), target)]
        lines += [b"%b: %b\r\n" % header for header in (*passed, *self._about_client(request))]
        joined = b"".join(lines)
        if (
            joined.count(b"\n") != len(lines)
            or joined.count(b"\r") != len(lines)
            or b"\0" in joined
        ):
            raise rejected("A header of the request contains a line break or NUL.")
        length, has_length = _length(request)
        return RequestHead(joined, method, length, has_length, "upgrade" in scope["state"])

    def _about_client(self, request: RawRequest) -> list[Header]:
        """Return the headers that tell LAMB of the client, and of the address that it used.

        What a request says of this itself counts only if it comes from a trusted proxy.
        """
        headers = request.headers
        client = request.scope["client"]
        address = client[0] if client else ""
        host = headers.get(b"host", self._authority)
        sender = address.encode("ascii", "replace")
        proto, forwarded_host = self._scheme, host
        former_for = former = b""
        if self._is_proxy(address):
            proto = headers.get(b"x-forwarded-proto", proto)
            forwarded_host = headers.get(b"x-forwarded-host", host)
            former_for = _joined(request, b"x-forwarded-for")
            former = _joined(request, b"forwarded")
        node = b'"[%b]"' % sender if b":" in sender else sender or b"unknown"
        element = b'for=%b;host="%b";proto=%b' % (node, host, self._scheme)
        return [
            (b"host", host),
            (b"x-forwarded-for", former_for + sender),
            (b"x-forwarded-host", forwarded_host),
            (b"x-forwarded-proto", proto),
            (b"forwarded", former + element),
            (b"x-request-id", request.request_id.encode("ascii")),
        ]

    def _is_proxy(self, address: str) -> bool:
        if not self._proxies:
            return False
        try:
            parsed = ip_address(address)
        except ValueError:
            return False
        return any(parsed in network for network in self._proxies)


def listed_in_connection(headers: Iterable[Header]) -> set[bytes]:
    """Return the names of headers that the sender has declared to be for this connection only."""
    return {
        token.strip().lower()
        for name, value in headers
        if name == b"connection"
        for token in value.split(b",")
    }


def _end_to_end(headers: list[Header]) -> list[Header]:
    """Return the headers that are sent on, without credentials of Heddle."""
    dropped = listed_in_connection(headers) | HOP_BY_HOP | _REPLACED
    passed = []
    for name, value in headers:
        if name in dropped or (b"_" in name and name.replace(b"_", b"-") in _REPLACED):
            continue
        if name == b"cookie":
            value = _others_cookies(value)  # noqa: PLW2901 - it replaces the value
            if not value:
                continue
        elif name == b"authorization" and value.lower().startswith(_ISSUED_KEY):
            continue
        passed.append((name, value))
    return passed


def _others_cookies(value: bytes) -> bytes:
    """Return the value of `Cookie` without the cookies of Heddle."""
    if b"heddle_" not in value:
        return value
    pairs = [pair.strip() for pair in value.split(b";")]
    return b"; ".join(pair for pair in pairs if pair.partition(b"=")[0].strip() not in OWN_COOKIES)


def _length(request: RawRequest) -> tuple[int | None, bool]:
    """Return the length of the body of a request, None in chunks, and whether it says so.

    Raises:
        RejectedRequestError: The body has a coding that the gateway does not know.
    """
    codings = [value for name, value in request.scope["headers"] if name == b"transfer-encoding"]
    if codings:
        if [each.strip().lower() for each in codings] != [b"chunked"]:
            raise rejected("The transfer coding of the body is not supported.", 501)
        if request.scope["http_version"] == "1.0":
            raise rejected("HTTP/1.0 has no transfer codings.")
        return None, True
    text = request.header("content-length")
    if not text:
        return 0, False
    return int(text), True


def _joined(request: RawRequest, header: bytes) -> bytes:
    """Return the values of a header, to be followed by another one."""
    values = [value for name, value in request.scope["headers"] if name == header]
    return b"".join(value + b", " for value in values if value)
