"""LAMB's tokens of users (JSON Web Tokens, HS256), which name a user of Heddle, too."""

from typing import Any

from heddle.account.v1 import account_pb2 as pb
from heddle_gateway.auth.issued_keys import CACHE_SECONDS, AccountClient
from heddle_gateway.auth.keys_file import Principal
from heddle_runtime.contract.email_address import canonical_email
from heddle_runtime.identity.callers import Identity
from heddle_runtime.identity.permissions import scopes_of
from heddle_runtime.rpc.ttl_cache import TTLCache
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import OctKey

KEY_ID = "lamb"
"""What the audit log names as the key of a request with a token."""
_MAX_CHARACTERS = 4096
_MAX_EMAIL_CHARACTERS = 255
_ALGORITHMS = ["HS256"]
_DOTS = 2


class LambTokens:
    """Checks tokens, and resolves their users with the account service.

    A token says who the user is, and nothing of what the user may do: LAMB's `role` grants nothing.
    The rights are those of the user's home organisation in Heddle.
    """

    def __init__(self, secret: str, accounts: AccountClient) -> None:
        """Prepare.

        Args:
            secret: With which LAMB signs its tokens.
            accounts: Knows the users.
        """
        self._key = OctKey.import_key(secret)
        self._accounts = accounts
        self._identities: TTLCache[str, Identity | None] = TTLCache(CACHE_SECONDS)

    async def principal(self, token: str) -> Principal | None:
        """Return the user of a token; None if it is invalid, or no user of Heddle's.

        Raises:
            UnavailableError: The account service does not answer.
        """
        claims = self._claims(token)
        if claims is None:
            return None
        email = canonical_email(claims["email"])
        identity = await self._identities.get(email, lambda: self._resolve(email))
        return Principal(identity, expires_at=int(claims["exp"])) if identity else None

    def _claims(self, token: str) -> dict[str, Any] | None:
        """Return the claims of a valid token; None if it is invalid.

        Only LAMB knows whether an administrator still acts as the user of a takeover.
        """
        if not _may_be_token(token):
            return None
        try:
            claims: dict[str, Any] = jwt.decode(token, self._key, algorithms=_ALGORITHMS).claims
            jwt.JWTClaimsRegistry(exp={"essential": True}).validate(claims)
        except (JoseError, ValueError, TypeError):
            return None
        if "takeover" in claims or not _is_address(claims.get("email")):
            return None
        return claims

    async def _resolve(self, email: str) -> Identity | None:
        """Return the identity of an enabled user in the home organisation, None without one."""
        request = pb.ListMembershipsRequest(email=email)
        method = self._accounts.stub.ListMemberships
        response = await self._accounts.resolve(method, request, "Users")
        home = next((each for each in response.memberships if each.home), None)
        if home is None:
            return None
        return Identity(email, home.organization, scopes_of(home.role), key_id=KEY_ID)


def _may_be_token(text: str) -> bool:
    """Return whether a text looks like a token, so that it is worth a check."""
    return text.count(".") == _DOTS and len(text) <= _MAX_CHARACTERS


def _is_address(value: object) -> bool:
    return isinstance(value, str) and "@" in value and len(value) <= _MAX_EMAIL_CHARACTERS
