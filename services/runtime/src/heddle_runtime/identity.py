"""Who calls: established once, at the gateway, and carried as one short-lived signed token."""

import time
import uuid
from collections import OrderedDict
from collections.abc import Sequence
from typing import TypeVar

import msgspec
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import OctKey

from heddle_runtime.errors import UnauthenticatedError

AUDIENCE = "heddle"
LIFETIME = 60.0
_ALGORITHMS = ["HS256"]
_REMEMBERED = 4096
KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")
_CLAIMS = jwt.JWTClaimsRegistry(
    leeway=5,
    exp={"essential": True},
    iat={"essential": True},
    aud={"essential": True, "value": AUDIENCE},
    sub={"essential": True},
)


class Identity(msgspec.Struct, frozen=True):
    """A caller, as the gateway knows it."""

    subject: str
    """The user or application, unique in the organisation."""
    organization: str = ""
    scopes: Sequence[str] = ()
    client_user: str = ""
    """Whom a trusted client means that tells no e-mail address: its own id of the person. A name
    for texts, and no proof of who it is."""


ANONYMOUS = Identity("anonymous")
ADMIN = "admin"
"""The scope of who may do everything."""
ORGANIZATION_ADMIN = "organization_admin"
"""The scope of who may do everything within the own organisation."""
SERVICE = "service"
"""The scope of a service that acts for itself: may use every assistant."""
DEFAULT_ORGANIZATION = "default"
"""Where callers and assistants are at home that name no organisation."""


def home(identity: Identity) -> str:
    """Return the slug of the organisation that `identity` acts in."""
    return identity.organization or DEFAULT_ORGANIZATION


class TokenSigner:
    """Makes tokens. One token serves an identity for half of its lifetime, then a new one does."""

    def __init__(self, secret: str) -> None:
        self._key = OctKey.import_key(secret)
        self._tokens: OrderedDict[Identity, tuple[float, str]] = OrderedDict()

    def token(self, identity: Identity) -> str:
        """Return a token for `identity` that is valid for at least half a minute."""
        now = time.time()
        known = self._tokens.get(identity)
        if known is not None and now < known[0]:
            return known[1]
        claims = {
            "sub": identity.subject,
            "org": identity.organization,
            "scopes": list(identity.scopes),
            "aud": AUDIENCE,
            "iat": int(now),
            "exp": int(now + LIFETIME),
            "jti": uuid.uuid4().hex,
        }
        if identity.client_user:
            claims["client_user"] = identity.client_user
        token = jwt.encode({"alg": "HS256"}, claims, self._key, algorithms=_ALGORITHMS)
        _remember(self._tokens, identity, (now + LIFETIME / 2, token))
        return token


class TokenVerifier:
    """Reads tokens. A token is verified once; then only its end is checked."""

    def __init__(self, secret: str) -> None:
        self._key = OctKey.import_key(secret)
        self._identities: OrderedDict[str, tuple[float, Identity]] = OrderedDict()

    def identity(self, token: str) -> Identity:
        """Return who `token` stands for.

        Raises:
            UnauthenticatedError: The token is missing, forged, expired or for someone else.
        """
        known = self._identities.get(token)
        if known is None:
            known = self._verify(token)
            _remember(self._identities, token, known)
        if time.time() > known[0]:
            raise UnauthenticatedError("The call's token has expired.")
        return known[1]

    def _verify(self, token: str) -> tuple[float, Identity]:
        try:
            claims = jwt.decode(token, self._key, algorithms=_ALGORITHMS).claims
            _CLAIMS.validate(claims)  # decode alone does not look at exp
            identity = Identity(
                claims["sub"],
                claims.get("org", ""),
                tuple(claims["scopes"]),
                claims.get("client_user", ""),
            )
            end = float(claims["exp"])
        except (JoseError, ValueError, KeyError, TypeError):
            raise UnauthenticatedError("The call carries no valid token.") from None
        if identity.subject == ANONYMOUS.subject:  # who may do everything where nobody signs
            raise UnauthenticatedError("The call carries no valid token.")
        return end, identity


def _remember(cache: OrderedDict[KeyT, ValueT], key: KeyT, value: ValueT) -> None:
    cache[key] = value
    if len(cache) > _REMEMBERED:
        cache.popitem(last=False)
