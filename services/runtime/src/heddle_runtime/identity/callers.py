"""The identity of callers. The gateway establishes it; calls carry it as a short-lived token.

A token is valid at one gRPC service, so a service cannot use the tokens that it receives at others.
Where a call leaves a process, it is signed for the service that it calls.
"""

import time
import uuid
from collections.abc import Sequence
from functools import lru_cache

import msgspec

from heddle_runtime.errors import UnauthenticatedError
from heddle_runtime.identity import signed_tokens
from heddle_runtime.identity.secrets import split_secrets

LIFETIME = 60.0  # seconds: a stolen token is soon useless
_LEEWAY = 5.0  # seconds by which the clocks of two machines may differ
_MAX_CACHED = 4096


class Identity(msgspec.Struct, frozen=True):
    """A caller, as the gateway knows it."""

    subject: str
    """The user or application, unique in the organisation."""
    organization: str = ""
    scopes: Sequence[str] = ()
    client_user: str = ""
    """The user's id in a trusted client that sends no e-mail address. Only for texts: it proves no
    identity."""
    key_id: str = ""
    """The id of the API key of the request. Only for the audit log."""


NO_IDENTITY = Identity("")
"""The identity of code that works for no caller and no service. Services refuse its calls."""
ADMIN = "admin"
"""The scope of callers who may do everything."""
ORGANIZATION_ADMIN = "organization_admin"
"""The scope of callers who may do everything within their organisation."""
CREATOR = "creator"
"""The scope of callers who may create things. Without a scope, callers use what is shared."""
SERVICE = "service"
"""The scope of a service that calls in its own name: it may use every assistant."""
DEFAULT_ORGANIZATION = "default"
"""The organisation of callers and assistants that name none."""
OPERATOR = Identity("operator", scopes=(ADMIN,))
"""The operator, who has the secret of the services or the key of the gateway's settings."""
DEVELOPER = Identity("developer", scopes=(ADMIN,))
"""The caller without a key or token on a machine whose gateway is in development mode."""
OPERATORS = frozenset({OPERATOR.subject, DEVELOPER.subject, ""})
"""Subjects of the operator in the default organisation. Users have e-mail addresses instead."""


def home(identity: Identity) -> str:
    """Return the slug of the organisation that `identity` acts in."""
    return identity.organization or DEFAULT_ORGANIZATION


def require_identity(identity: Identity) -> None:
    """Refuse to make a call without an identity.

    Raises:
        UnauthenticatedError: There is no identity.
    """
    if not identity.subject:
        raise UnauthenticatedError("The call has no identity. Call for a caller, or as a service.")


class _Claims(msgspec.Struct, frozen=True):
    sub: str
    aud: str
    iat: float
    exp: float
    scopes: tuple[str, ...]
    org: str = ""
    client_user: str = ""
    key_id: str = ""
    nbf: float = 0.0


class TokenSigner:
    """Creates tokens. The token of an identity for a service is reused for half of its lifetime."""

    def __init__(self, secret: str) -> None:
        """Sign with the first of the secrets in `secret`, which are separated by commas."""
        self._key = split_secrets(secret)[0].encode()
        self._signed = lru_cache(_MAX_CACHED)(self._sign)

    def token(self, identity: Identity, audience: str) -> str:
        """Return a token for `identity` that is valid for at least half a minute.

        Args:
            identity: The caller.
            audience: The full name of the gRPC service that the token is for.

        Raises:
            UnauthenticatedError: There is no identity.
        """
        require_identity(identity)
        return self._signed(identity, audience, time.time() // (LIFETIME / 2))

    def _sign(self, identity: Identity, audience: str, _period: float) -> str:
        """Return a new token. The cache keeps one for each half of a lifetime, by the clock."""
        now = time.time()
        claims = {
            "sub": identity.subject,
            "org": identity.organization,
            "scopes": list(identity.scopes),
            "aud": audience,
            "iat": int(now),
            "exp": int(now + LIFETIME),
            "jti": uuid.uuid4().hex,
        }
        if identity.client_user:
            claims["client_user"] = identity.client_user
        if identity.key_id:
            claims["key_id"] = identity.key_id
        return signed_tokens.signed(claims, self._key)


class TokenVerifier:
    """Verifies tokens. A token is verified once; later only its expiry is checked."""

    def __init__(self, secret: str) -> None:
        """Accept each of the secrets in `secret`, which are separated by commas."""
        self._keys = [each.encode() for each in split_secrets(secret)]
        self._verified = lru_cache(_MAX_CACHED)(self._verify)

    def identity(self, token: str, audience: str) -> Identity:
        """Return the identity in `token`.

        Args:
            token: The token of a call.
            audience: The full name of the gRPC service that the call is for.

        Raises:
            UnauthenticatedError: The token is missing, forged or expired, or has another audience.
        """
        expires_at, valid_audience, identity = self._verified(token)
        if time.time() > expires_at:
            raise UnauthenticatedError("The call's token has expired.")
        if audience != valid_audience:
            raise UnauthenticatedError("The call's token is for another service.")
        return identity

    def _verify(self, token: str) -> tuple[float, str, Identity]:
        now = time.time()
        try:
            claims = msgspec.convert(signed_tokens.verified(token, self._keys), _Claims)
        except (signed_tokens.InvalidTokenError, msgspec.ValidationError):
            raise UnauthenticatedError("The call carries no valid token.") from None
        valid = claims.exp > now - _LEEWAY and max(claims.iat, claims.nbf) <= now + _LEEWAY
        if not (valid and claims.sub):
            raise UnauthenticatedError("The call carries no valid token.")
        identity = Identity(
            claims.sub, claims.org, claims.scopes, claims.client_user, claims.key_id
        )
        return float(claims.exp), claims.aud, identity
