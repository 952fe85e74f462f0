"""The browsers of users: their cookies, and the web pages that may call the gateway."""

import contextlib
import hmac
import json
import secrets
import time
from dataclasses import KW_ONLY, asdict, dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from heddle_runtime.errors import PermissionDeniedError
from pydantic import SecretStr

from heddle_gateway.auth.sealed_texts import SealedTexts
from heddle_gateway.auth.sessions import Session, Sessions
from heddle_gateway.auth.web_pages import calls_this_machine, comes_from, is_own_page, origin_of
from heddle_gateway.http.headers import SESSION_COOKIE
from heddle_gateway.http.raw import RawRequest

FLOW_SECONDS = 600
_PURPOSE = b"heddle oidc flow"


@dataclass(frozen=True, slots=True)
class Flow:
    """An attempt to sign in with a provider."""

    provider: str
    return_to: str
    organization: str
    redirect_uri: str
    state: str = field(default_factory=secrets.token_urlsafe, repr=False)
    nonce: str = field(default_factory=secrets.token_urlsafe, repr=False)
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48), repr=False)
    ends_at: int = field(default_factory=lambda: int(time.time()) + FLOW_SECONDS)


class FlowCookies:
    """Encrypts flows for the browsers of their users."""

    def __init__(self, secret: SecretStr) -> None:
        """Compute the key."""
        self._texts = SealedTexts(secret, _PURPOSE)

    def seal(self, flow: Flow) -> str:
        """Return the value of the cookie of a flow."""
        return self._texts.seal(json.dumps(asdict(flow)))

    def open(self, value: str) -> Flow | None:
        """Return the flow of a cookie; None if it has another origin, or has ended."""
        with contextlib.suppress(ValueError, TypeError):
            flow = Flow(**json.loads(self._texts.open(value) or b""))
            return flow if flow.ends_at > time.time() else None
        return None


HEADER = "x-csrf-token"
_SITE = "sec-fetch-site"
_SAFE = {"GET", "HEAD"}
_OF_OTHERS = {"cross-site", "same-site"}


def may_use_cookie(request: RawRequest) -> bool:
    """Return whether the cookie of a request counts.

    Another program of the same host is the same site for a browser, so the browser sends the cookie
    to requests of its pages.
    """
    return request.header(_SITE) not in _OF_OTHERS or request.scope["method"] not in _SAFE


def check_token(request: RawRequest, session: Session, public_url: str) -> None:
    """Check that a request that may change something comes from a page of this gateway.

    Raises:
        PermissionDeniedError: It does not, or has not the token of its session.
    """
    if request.scope["method"] in _SAFE:
        return
    site = request.header(_SITE)
    if not (site or origin_of(request)):
        raise PermissionDeniedError(
            "A request with the cookie of a session needs the header Origin or Sec-Fetch-Site. "
            "Programs send an API key."
        )
    check_page(request, public_url)
    sent = request.header(HEADER).encode("utf-8", "replace")
    if not hmac.compare_digest(sent, session.csrf_token.encode()):
        raise PermissionDeniedError(
            f"The header {HEADER} is missing or is not the one of this session. GET /v1/me returns "
            "it as csrf_token."
        )


def check_page(request: RawRequest, public_url: str) -> None:
    """Check that no page of another web site sends a request.

    Raises:
        PermissionDeniedError: One does.
    """
    site, origin = request.header(_SITE), origin_of(request)
    is_own = not origin or comes_from(request, origin, public_url)
    if not is_own or site in _OF_OTHERS:
        raise PermissionDeniedError(
            "A page of another web site cannot act for a user who is signed in here."
        )


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


@dataclass(eq=False, slots=True)
class Browsers:
    """Checks the cookies of browsers, and which page sends a request."""

    sessions: Sessions
    """The sessions of users."""
    public_url: str = ""
    """The address of the gateway for clients."""
    _: KW_ONLY
    development: bool = False
    """Whether requests need no key."""
    origins: tuple[str, ...] = ()
    """The origins of web pages that may call a gateway in development mode."""

    def token(self, request: RawRequest) -> str:
        """Return the token of the session of a request; empty if there is none that counts."""
        if not may_use_cookie(request):
            return ""
        return cookie_value(request, SESSION_COOKIE, self.public_url)

    async def session(self, request: RawRequest, token: str) -> Session | None:
        """Return the session of a token that a request has; None if it is invalid or has ended.

        Raises:
            PermissionDeniedError: The request may be that of another web site.
            UnavailableError: The session cannot be checked now.
        """
        session = await self.sessions.session(token)
        if session is not None:
            check_token(request, session, self.public_url)
        return session

    def set_cookie(self, token: str, seconds: int, *, framed: bool = False) -> str:
        """Return the value of `Set-Cookie` that stores a token, or removes it with 0 seconds.

        Args:
            token: The token of a session.
            seconds: For how long.
            framed: Whether the page stands in a frame of another site. The session is in frames
                there only.
        """
        same_site: Literal["Strict", "None"] = "None" if framed else "Strict"
        return set_cookie(SESSION_COOKIE, token, seconds, same_site, self.public_url)

    def check_page(self, request: RawRequest) -> None:
        """Check that no page of another web site sends a request to sign in.

        Raises:
            PermissionDeniedError: One does.
        """
        self.check_development(request)
        check_page(request, self.public_url)

    def check_development(self, request: RawRequest) -> None:
        """Reject requests of other web sites in development mode, which has no key to stop them.

        Raises:
            PermissionDeniedError: A web page, or another machine, sends the request.
        """
        if not self.development:
            return
        origin = origin_of(request)
        own = not origin or origin in self.origins or is_own_page(request)
        if not (own and calls_this_machine(request)):
            raise PermissionDeniedError(
                "In development mode the gateway answers programs of its own machine that call it "
                "by 127.0.0.1 or localhost, its own pages, and web pages listed in "
                "HEDDLE_GATEWAY_CORS_ORIGINS."
            )
