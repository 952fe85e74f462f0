"""API keys that the account service issued, with a cache of their owners."""

import hashlib
from typing import TYPE_CHECKING

import grpc
import structlog
from heddle.account.v1.account_pb2 import ResolveKeyRequest
from heddle_runtime.call_metadata import new_call_options
from heddle_runtime.errors import UnauthenticatedError, UnavailableError, from_rpc
from heddle_runtime.identity import Identity
from heddle_runtime.service_credentials import ServiceCredentials
from heddle_runtime.ttl_cache import TTLCache

from heddle_gateway.auth.keys_file import Principal

if TYPE_CHECKING:
    from heddle.account.v1.account_pb2_grpc import AccountServiceAsyncStub

log = structlog.get_logger(__name__)
PREFIX = "hk_"
CACHE_SECONDS = 2.0
"""Seconds for which an owner is cached: a revoked key stays valid at most that long."""
_MAX_CHARACTERS = 256
_TIMEOUT = 5.0


class IssuedKeys:
    """Resolves keys with the account service, once at a time for each key."""

    def __init__(
        self, accounts: "AccountServiceAsyncStub", credentials: ServiceCredentials
    ) -> None:
        self._accounts = accounts
        self._credentials = credentials
        self._principals: TTLCache[bytes, Principal | None] = TTLCache(CACHE_SECONDS)

    async def principal(self, key: str) -> Principal | None:
        """Return the owner of a key; None if it is invalid.

        Raises:
            UnavailableError: The account service does not answer.
        """
        if len(key) > _MAX_CHARACTERS:
            return None
        digest = hashlib.sha256(key.encode("utf-8", "replace")).digest()  # the key is not stored
        return await self._principals.get(digest, lambda: self._ask(key))

    async def _ask(self, key: str) -> Principal | None:
        try:
            with self._credentials.as_service():
                response = await self._accounts.ResolveKey(
                    ResolveKeyRequest(key=key), **new_call_options(_TIMEOUT)
                )
        except grpc.aio.AioRpcError as error:
            known = from_rpc(error)
            if isinstance(known, UnauthenticatedError) and known.metadata.get("subject") == "key":
                return None
            log.error("API keys cannot be checked", reason=known.reason, cause=known.message)  # noqa: TRY400 - the service is at fault, a traceback says nothing
            raise UnavailableError(
                "API keys cannot be checked at the moment. Try again.", retry_after=1.0
            ) from known
        identity = Identity(response.subject, response.organization, tuple(response.scopes))
        return Principal(identity, response.trusted)
