"""API keys that the account service issued, with a cache of their owners."""

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog
from google.protobuf.message import Message
from heddle.account.v1.account_pb2 import ResolveKeyRequest
from heddle.account.v1.account_pb2_grpc import AccountServiceAsyncStub
from heddle_runtime.errors import HeddleError, UnauthenticatedError, UnavailableError
from heddle_runtime.identity.callers import Identity
from heddle_runtime.identity.service_credentials import ServiceCredentials
from heddle_runtime.rpc.ttl_cache import TTLCache

from heddle_gateway.auth.keys_file import Principal
from heddle_gateway.services import ResponseT, call

log = structlog.get_logger(__name__)
PREFIX = "hk_"
CACHE_SECONDS = 2.0
"""Seconds for which an owner is cached: a revoked key stays valid at most that long."""
_MAX_CHARACTERS = 256
_TIMEOUT = 5.0


@dataclass(frozen=True, slots=True)
class AccountClient:
    """Asks the account service on behalf of the gateway."""

    stub: AccountServiceAsyncStub
    credentials: ServiceCredentials

    async def resolve(
        self, method: Callable[..., Awaitable[ResponseT]], request: Message, subject: str
    ) -> ResponseT:
        """Return the response about the `subject` of a request.

        Raises:
            UnauthenticatedError: The key, the token or the password of the request is not valid.
            UnavailableError: The account service does not answer.
        """
        try:
            with self.credentials.as_service():
                return await call(method, request, _TIMEOUT)
        except HeddleError as error:
            if isinstance(error, UnauthenticatedError) and "subject" in error.metadata:
                raise
            log.error("the account service failed", reason=error.reason, cause=error.message)  # noqa: TRY400 - the service is at fault, a traceback says nothing
            message = f"{subject} cannot be checked at the moment. Try again."
            raise UnavailableError(message, retry_after=1.0) from error


class IssuedKeys:
    """Resolves keys with the account service, once at a time for each key."""

    def __init__(self, accounts: AccountClient) -> None:
        self._accounts = accounts
        self._principals: TTLCache[bytes, Principal | None] = TTLCache(CACHE_SECONDS)

    async def principal(self, key: str) -> Principal | None:
        """Return the owner of a key; None if it is invalid.

        Raises:
            UnavailableError: The account service does not answer.
        """
        if not _may_be_issued(key):
            return None
        digest = hashlib.sha256(key.encode("utf-8", "replace")).digest()  # the key is not stored
        return await self._principals.get(digest, lambda: self._resolve(key))

    async def _resolve(self, key: str) -> Principal | None:
        try:
            request = ResolveKeyRequest(key=key)
            method = self._accounts.stub.ResolveKey
            owner = await self._accounts.resolve(method, request, "API keys")
        except UnauthenticatedError:
            return None
        scopes = tuple(owner.scopes)
        identity = Identity(owner.subject, owner.organization, scopes, key_id=owner.key_id)
        expires_at = owner.expire_time.seconds if owner.HasField("expire_time") else None
        return Principal(identity, owner.trusted, expires_at)


def _may_be_issued(key: str) -> bool:
    """Return whether a text looks like a key, so that it is worth a request."""
    return key.startswith(PREFIX) and len(key) <= _MAX_CHARACTERS
