"""The browsers of users: their cookies, and the web pages that may call the gateway."""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

from heddle_runtime.errors import PermissionDeniedError

from heddle_gateway.auth.cookies import cookie_value, set_cookie
from heddle_gateway.auth.csrf import check_page, check_token, may_use_cookie
from heddle_gateway.auth.sessions import Session, Sessions
from heddle_gateway.auth.web_pages import calls_this_machine, is_own_page, origin_of
from heddle_gateway.http.headers import SESSION_COOKIE
from heddle_gateway.http.raw import RawRequest


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
