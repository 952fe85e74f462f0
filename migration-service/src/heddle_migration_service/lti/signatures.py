"""Checks launches of LTI 1.1: forms that a platform signs with OAuth 1.0."""

from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Any

from heddle_gateway.auth.oidc.configuration import SignInFailedError
from oauthlib.common import Request
from oauthlib.oauth1.rfc5849 import signature

MAX_AGE_SECONDS = 600
"""How far the time of a launch may be from this machine's, in either direction."""
Verify = Callable[[Any, str], bool]
_METHODS: Mapping[str, Verify] = {
    "HMAC-SHA1": signature.verify_hmac_sha1,
    "HMAC-SHA256": signature.verify_hmac_sha256,
}
_MAX_NONCE = 200
_FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def check_launch(body: str, urls: Iterable[str], secret: str, now: float) -> None:
    """Check the time and the signature of a launch.

    Args:
        body: The form, as it was sent.
        urls: The addresses that the platform may have signed, with their queries.
        secret: Of the platform's key.
        now: Seconds since 1970.

    Raises:
        SignInFailedError: The launch is old, or has another signature.
    """
    form = dict(signature.collect_parameters(body=body, exclude_oauth_signature=False))
    verify = _METHODS.get(form.get("oauth_signature_method", ""))
    if verify is None or form.get("oauth_version", "1.0") != "1.0":
        raise refused("Heddle accepts signatures of OAuth 1.0 with HMAC-SHA1 or HMAC-SHA256.")
    nonce, at = form.get("oauth_nonce", ""), form.get("oauth_timestamp", "")
    if not 1 <= len(nonce) <= _MAX_NONCE:
        raise refused(f"It has no nonce of at most {_MAX_NONCE} characters.")
    if not (at.isdecimal() and abs(int(at[:20]) - now) <= MAX_AGE_SECONDS):
        raise refused(f"It is more than {MAX_AGE_SECONDS} seconds old, or a clock is wrong.")
    if not secret or not any(_is_signed(verify, body, url, form, secret) for url in urls):
        raise refused("Its signature is not that of a key which Heddle knows.")


def refused(why: str) -> SignInFailedError:
    """Return the error of a launch that is not valid."""
    return SignInFailedError(
        f"The launch is not valid. {why} Open the link in your course again.",
        HTTPStatus.UNAUTHORIZED,
    )


def _is_signed(verify: Verify, body: str, url: str, form: Mapping[str, str], secret: str) -> bool:
    request: Any = Request(url, "POST", body, _FORM)  # its members are set at run time
    request.params = signature.collect_parameters(uri_query=request.uri_query or "", body=body)
    request.signature = form.get("oauth_signature", "")
    return verify(request, secret)
