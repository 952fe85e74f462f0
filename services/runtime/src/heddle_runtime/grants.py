"""Grants: the right to read collections as the owner of an assistant may read them.

The orchestrator issues a grant for each call of tools. The tools service passes it on as call
metadata, and the knowledge service verifies it. Collections are judged at the time of the call: a
grant names whose rights count, and gives no right of its own.

Without a secret every caller may do everything, so grants are not signed. They still say whose
collections a search means.
"""

import base64
import binascii
import time
from contextlib import AbstractContextManager
from functools import lru_cache

import msgspec

from heddle_runtime import signed_tokens
from heddle_runtime.call_metadata import caller, calling_as
from heddle_runtime.errors import UnauthenticatedError
from heddle_runtime.secret_file import split_secrets

AUDIENCE = "heddle-grant"
LEEWAY_SECONDS = 5.0
_MAX_CACHED = 4096
_INVALID = "The call carries no valid grant."


class Grant(msgspec.Struct, frozen=True):
    """Whose rights a search has."""

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

    def __init__(self, secret: str | None) -> None:
        """Sign with the first of the secrets between commas, or not at all without one."""
        self._key = split_secrets(secret)[0].encode() if secret else None
        # Runs of one caller and assistant within a second have equal claims.
        self._token = lru_cache(_MAX_CACHED)(self._encode)

    def sign(self, grant: Grant, seconds: float) -> str:
        """Return the token of a grant for the current caller.

        Args:
            grant: What to grant.
            seconds: How long the calls may take that the grant is for.
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
        if self._key is None:
            return base64.urlsafe_b64encode(msgspec.json.encode(claims)).decode("ascii")
        return signed_tokens.signed(msgspec.structs.asdict(claims), self._key)


class GrantVerifier:
    """Reads the grants of calls."""

    def __init__(self, secret: str | None) -> None:
        """Accept each of the secrets between commas, or unsigned grants without one."""
        self._keys = [each.encode() for each in split_secrets(secret)] if secret else []
        # A signature is checked once; its times and its caller are checked for each call.
        self._claims = lru_cache(_MAX_CACHED)(self._decode)

    def current(self) -> Grant | None:
        """Return the grant of the current call; None if it carries none.

        Raises:
            UnauthenticatedError: The grant is forged, expired, or was issued to another caller.
        """
        token = caller().grant
        return self.verified(token) if token else None

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
            if not self._keys:
                return msgspec.json.decode(base64.urlsafe_b64decode(token), type=_Claims)
            return msgspec.convert(signed_tokens.verified(token, self._keys), _Claims)
        except (binascii.Error, msgspec.MsgspecError, ValueError):
            raise UnauthenticatedError(_INVALID) from None


def carrying(token: str) -> AbstractContextManager[None]:
    """Let the calls of a block carry a grant, or none if the token is empty."""
    return calling_as(msgspec.structs.replace(caller(), grant=token))
