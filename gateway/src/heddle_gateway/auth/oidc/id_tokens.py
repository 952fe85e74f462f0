"""Checks ID tokens."""

import hmac
from collections.abc import Iterable
from typing import Any

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, KeySet, OctKey, OKPKey, RSAKey, import_key

_ALGORITHMS = [
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA", "Ed25519"),
]
"""Signatures with a key that only the provider has. `none` and HS256 are none of them."""
_LEEWAY_SECONDS = 60
Claims = dict[str, Any]


class IdTokenError(ValueError):
    """An ID token cannot be used. The message says why."""


def key_set(document: object) -> KeySet:
    """Return the public keys of a provider that can be used; others are left out.

    Raises:
        IdTokenError: There are none.
    """
    entries = document.get("keys") if isinstance(document, dict) else None
    keys: list[OctKey | RSAKey | ECKey | OKPKey] = [
        *_keys(entries if isinstance(entries, list) else [])
    ]
    if not keys:
        raise IdTokenError("the provider has no keys that can be used")
    return KeySet(keys)


def verified(token: object, keys: KeySet, *, issuer: str, client_id: str, nonce: str) -> Claims:
    """Return the claims of an ID token, as OpenID Connect Core 3.1.3.7 demands.

    Raises:
        IdTokenError: The token is invalid.
    """
    if not isinstance(token, str):
        raise IdTokenError("the response has no ID token")
    try:
        claims: Claims = jwt.decode(token, keys, algorithms=_ALGORITHMS).claims
        jwt.JWTClaimsRegistry(
            leeway=_LEEWAY_SECONDS,
            iss={"essential": True, "value": issuer},
            aud={"essential": True, "value": client_id},
            sub={"essential": True},
            exp={"essential": True},
            iat={"essential": True},
            nonce={"essential": True},
        ).validate(claims)
    except (JoseError, ValueError, TypeError) as error:
        raise IdTokenError(f"the ID token is not valid: {type(error).__name__}") from error
    if not hmac.compare_digest(str(claims["nonce"]).encode(), nonce.encode()):
        raise IdTokenError("the ID token is of another attempt to sign in")
    is_shared = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
    if claims.get("azp", None if is_shared else client_id) != client_id:
        raise IdTokenError("the ID token is for another client")
    return claims


def _keys(entries: Iterable[object]) -> Iterable[RSAKey | ECKey | OKPKey]:
    for entry in entries:
        if not isinstance(entry, dict) or entry.get("use", "sig") != "sig":
            continue
        try:
            key = import_key(entry)
        except (JoseError, ValueError, TypeError, KeyError):  # of a kind that is not known
            continue
        if isinstance(key, RSAKey | ECKey | OKPKey):
            yield key
