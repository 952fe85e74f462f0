"""Tokens as LAMB signs them."""

import base64
import hashlib
import hmac
import json
import time
from typing import Any

SECRET = "a secret of this LAMB only, which nobody knows"
WEEK = 7 * 24 * 3600


def token(email: str, secret: str = SECRET, **claims: Any) -> str:
    """Return a token for the user of an address."""
    now = int(time.time())
    payload = {"sub": "1", "email": email, "role": "user", "iat": now, "exp": now + WEEK, **claims}
    return signed({"alg": "HS256", "typ": "JWT"}, payload, secret)


def signed(header: dict[str, Any], payload: dict[str, Any], secret: str) -> str:
    """Return a token with these contents, signed with HMAC-SHA-256."""
    text = f"{_encoded(header)}.{_encoded(payload)}"
    signature = hmac.digest(secret.encode(), text.encode(), hashlib.sha256)
    return f"{text}.{_base64(signature)}"


def unsigned(email: str) -> str:
    """Return a token that says that it needs no signature."""
    payload = {"sub": "1", "email": email, "role": "admin", "exp": int(time.time()) + WEEK}
    return f"{_encoded({'alg': 'none', 'typ': 'JWT'})}.{_encoded(payload)}."


def email_of(authorization: str, secret: str) -> str:
    """Return the address of the user whose token a request has, empty without a valid one."""
    text, _, signature = authorization.removeprefix("Bearer ").rpartition(".")
    expected = _base64(hmac.digest(secret.encode(), text.encode(), hashlib.sha256))
    if not text or not hmac.compare_digest(expected, signature):
        return ""
    payload = text.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    return str(claims["email"]) if claims["exp"] > time.time() else ""


def _encoded(value: dict[str, Any]) -> str:
    return _base64(json.dumps(value).encode())


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
