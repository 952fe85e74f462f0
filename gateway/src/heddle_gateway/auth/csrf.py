"""Requests that another web site makes in the browser of a user."""

import hmac

from heddle_runtime.errors import PermissionDeniedError

from heddle_gateway.auth.sessions import Session
from heddle_gateway.auth.web_pages import comes_from, origin_of
from heddle_gateway.http.raw import RawRequest

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
