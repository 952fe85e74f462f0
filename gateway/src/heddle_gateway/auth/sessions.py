"""Sessions of users, with a cache: what a cookie of a browser stands for."""

import hashlib
import hmac
from dataclasses import dataclass, field

from heddle.account.v1 import account_pb2 as pb
from heddle_runtime.errors import UnauthenticatedError
from heddle_runtime.identity.callers import Identity
from heddle_runtime.rpc.ttl_cache import TTLCache

from heddle_gateway.auth.issued_keys import CACHE_SECONDS, AccountClient

_PREFIX = "hs_"
_CSRF = b"heddle csrf token"


@dataclass(frozen=True, slots=True)
class Session:
    """A session and its token."""

    identity: Identity
    message: pb.Session
    """The account service's message about the session. It must not be changed."""
    token: str = field(repr=False)

    @property
    def csrf_token(self) -> str:
        """A token that only a page which can read the gateway's responses can send.

        It is a digest of the session's token, so it changes with the token and does not reveal it.
        """
        return hmac.digest(self.token.encode(), _CSRF, "sha256").hex()


@dataclass(frozen=True, slots=True)
class KeyCredential:
    """An API key, or development mode without one."""

    identity: Identity
    expires_at: int | None = None
    """Seconds since 1970; None: never."""
    is_development: bool = False
    speaks_for_others: bool = False
    """Whether the key is trusted, and the request names no user in Open WebUI's headers."""


@dataclass(frozen=True, slots=True)
class SessionCredential:
    """The cookie of a session."""

    session: Session

    @property
    def identity(self) -> Identity:
        """The user."""
        return self.session.identity


AnyCredential = KeyCredential | SessionCredential


def session_of(message: pb.Session, token: str) -> Session:
    """Return the session that the account service has started or resolved."""
    identity = Identity(message.user, message.organization, tuple(message.scopes))
    return Session(identity, message, token)


class Sessions:
    """Resolves tokens with the account service, once at a time for each token."""

    def __init__(self, accounts: AccountClient) -> None:
        self._accounts = accounts
        self._sessions: TTLCache[bytes, Session | None] = TTLCache(CACHE_SECONDS)

    async def session(self, token: str) -> Session | None:
        """Return the session of a token; None if it is invalid or has ended.

        Raises:
            UnavailableError: The account service does not answer.
        """
        if not token.startswith(_PREFIX):
            return None
        return await self._sessions.get(_digest(token), lambda: self._resolve(token))

    def forget(self, token: str) -> None:
        """Drop a cached token: its next use resolves it again. Other gateways do so after 2 s."""
        self._sessions.discard(_digest(token))

    async def _resolve(self, token: str) -> Session | None:
        method = self._accounts.stub.ResolveSession
        request = pb.ResolveSessionRequest(token=token)
        try:
            response = await self._accounts.resolve(method, request, "Sessions")
        except UnauthenticatedError:
            return None
        return session_of(response.session, token)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()
