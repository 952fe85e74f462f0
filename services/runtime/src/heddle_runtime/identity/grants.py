"""Grants: the right to read and use what the owner of an assistant may, within one run.

The orchestrator issues a grant for each run, to its caller. The tools service passes it on as call
metadata, and each service that uses it verifies it. Rights to collections are
checked at the time of the call: a grant names only the owner whose rights count. A call with a
grant is part of a run, so users without rights of their own may cause it.
"""

import time
from contextlib import AbstractContextManager
from functools import lru_cache

import msgspec

from heddle_runtime.errors import UnauthenticatedError
from heddle_runtime.identity import signed_tokens
from heddle_runtime.identity.call_metadata import caller, calling_as
from heddle_runtime.identity.permissions import Right, require
from heddle_runtime.identity.secrets import split_secrets

AUDIENCE = "heddle-grant"
LEEWAY_SECONDS = 5.0
_MAX_CACHED = 4096
_INVALID = "The call carries no valid grant."


class Grant(msgspec.Struct, frozen=True):
    """A grant: names the owner whose rights a run has."""

    owner: str
    """The owner of the assistant; empty for the operator's assistants."""
    organization: str


class _Claims(Grant, frozen=True, kw_only=True):
    sub: str
    org: str
    aud: str
    iat: int
    exp: int


class GrantSigner:
    """Issues grants to the current caller."""

    def __init__(self, secret: str) -> None:
        """Take the secrets, separated by commas. The first one signs."""
        self._key = split_secrets(secret)[0].encode()
        # Runs of one caller and assistant within a second have equal claims.
        self._token = lru_cache(_MAX_CACHED)(self._encode)

    def sign(self, grant: Grant, seconds: float) -> str:
        """Return the token of a grant for the current caller.

        Args:
            grant: What to grant.
            seconds: The time limit of the calls for which the grant is valid.
        """
        identity = caller().identity
        now = time.time()
        claims = _Claims(
            **msgspec.structs.asdict(grant),
            sub=identity.subject,
            org=identity.organization,
            aud=AUDIENCE,
            iat=int(now),
            exp=int(now + seconds + LEEWAY_SECONDS),
        )
        return self._token(claims)

    def _encode(self, claims: _Claims) -> str:
        return signed_tokens.signed(msgspec.structs.asdict(claims), self._key)


class GrantVerifier:
    """Reads the grants of calls."""

    def __init__(self, secret: str) -> None:
        """Accept each of the secrets, which are separated by commas."""
        self._keys = [each.encode() for each in split_secrets(secret)]
        # A signature is checked once; its times and its caller are checked for each call.
        self._claims = lru_cache(_MAX_CACHED)(self._decode)

    def current(self) -> Grant | None:
        """Return the grant of the current call; None if it carries none.

        Raises:
            UnauthenticatedError: The grant is forged, expired, or was issued to another caller.
        """
        token = caller().grant
        return self.verified(token) if token else None

    def require(self, right: Right) -> None:
        """Reject a caller without a right, unless the call carries a grant: it is part of a run.

        Raises:
            PermissionDeniedError: It carries none, and the role of the caller lacks the right.
            UnauthenticatedError: As of `current`.
        """
        if self.current() is None:
            require(caller().identity, right)

    def verified(self, token: str) -> Grant:
        """Return the grant in a token.

        Raises:
            UnauthenticatedError: As of `current`.
        """
        claims = self._claims(token)
        identity = caller().identity
        now = time.time()
        if claims.aud != AUDIENCE or claims.iat > now + LEEWAY_SECONDS:
            raise UnauthenticatedError(_INVALID)
        if claims.exp < now:
            raise UnauthenticatedError("The call's grant has expired.")
        if (claims.sub, claims.org) != (identity.subject, identity.organization):
            raise UnauthenticatedError("The call's grant was issued to another caller.")
        return Grant(claims.owner, claims.organization)

    def _decode(self, token: str) -> _Claims:
        try:
            return msgspec.convert(signed_tokens.verified(token, self._keys), _Claims)
        except (signed_tokens.InvalidTokenError, msgspec.ValidationError):
            raise UnauthenticatedError(_INVALID) from None


def carrying(token: str) -> AbstractContextManager[None]:
    """Let the calls of a block carry a grant, or none if the token is empty."""
    return calling_as(msgspec.structs.replace(caller(), grant=token))
