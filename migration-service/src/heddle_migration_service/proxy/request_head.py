"""The head of a request as LAMB gets it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from ipaddress import ip_address

from heddle_gateway.http.headers import FLOW_COOKIE, SESSION_COOKIE
from heddle_gateway.http.raw import RawRequest
from heddle_runtime.http.egress import Network

from heddle_migration_service.proxy.targets import check_target, rejected

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
        *(b"x-forwarded-server", b"x-real-ip", b"x-api-key"),
    )
)
"""Headers that the gateway writes itself, that only it may write, or that hold its keys."""
_USERS = b"x-openwebui-"
"""Begins the headers by which Open WebUI tells Heddle who its user is."""
_WITH_BODY = {"POST", "PUT", "PATCH"}
_REFUSED = {"CONNECT", "TRACE"}


@dataclass(frozen=True, slots=True)
class RequestHead:
    """The head of a request for LAMB."""

    method: str
    target: bytes
    headers: list[Header]
    length: int | None
    """The length of the body; None if it is sent in chunks."""


class RequestHeads:
    """Makes the heads of requests for LAMB."""

    def __init__(
        self,
        authority: bytes,
        proxies: Iterable[Network],
        public_url: str,
        is_own_key: Callable[[str], bool],
    ) -> None:
        """Prepare.

        Args:
            authority: The host of requests that name none.
            proxies: Networks of reverse proxies before the gateway.
            public_url: The address of the gateway for clients.
            is_own_key: Whether the value of `Authorization` is a key that LAMB must not get.
        """
        self._is_own_key = is_own_key
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
        length, framing = _framing(request)
        passed = [*self._end_to_end(headers), *self._about_client(request), *framing]
        return RequestHead(method, target, passed, length)

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

    def _end_to_end(self, headers: list[Header]) -> list[Header]:
        """Return the headers that are sent on, without credentials and users of Heddle."""
        dropped = listed_in_connection(headers) | HOP_BY_HOP
        passed = []
        for name, value in headers:
            plain = name.replace(b"_", b"-")
            if name in dropped or plain in _REPLACED or plain.startswith(_USERS):
                continue
            if name == b"authorization" and self._is_own_key(value.decode("latin-1")):
                continue
            if name == b"cookie":
                value = _others_cookies(value)  # noqa: PLW2901 - it replaces the value
                if not value:
                    continue
            passed.append((name, value))
        return passed

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


def _others_cookies(value: bytes) -> bytes:
    """Return the value of `Cookie` without the cookies of Heddle."""
    if b"heddle_" not in value:
        return value
    pairs = [pair.strip() for pair in value.split(b";")]
    return b"; ".join(pair for pair in pairs if pair.partition(b"=")[0].strip() not in OWN_COOKIES)


def _framing(request: RawRequest) -> tuple[int | None, list[Header]]:
    """Return the length of the body of a request, None in chunks, and the headers that say so.

    Raises:
        RejectedRequestError: The body has a coding that the gateway does not know.
    """
    scope = request.scope
    codings = [value for name, value in scope["headers"] if name == b"transfer-encoding"]
    if codings:
        if [each.strip().lower() for each in codings] != [b"chunked"]:
            raise rejected("The transfer coding of the body is not supported.", 501)
        if scope["http_version"] == "1.0":
            raise rejected("HTTP/1.0 has no transfer codings.")
        return None, [(b"transfer-encoding", b"chunked")]
    text = request.header("content-length")
    length = int(text or 0)
    if "upgrade" in scope["state"] and not length:
        return 0, [(b"connection", b"Upgrade"), (b"upgrade", b"websocket")]
    if text or scope["method"] in _WITH_BODY:
        return length, [(b"content-length", b"%d" % length)]
    return 0, []


def _joined(request: RawRequest, header: bytes) -> bytes:
    """Return the values of a header, to be followed by another one."""
    values = [value for name, value in request.scope["headers"] if name == header]
    return b"".join(value + b", " for value in values if value)
