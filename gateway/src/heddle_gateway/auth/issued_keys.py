"""Keys that the account service gave out: who holds one, remembered for a moment."""

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
REMEMBERED = 2.0
"""Seconds after which a key is asked for again: so long a revoked one is of use at most."""
_LONGEST = 256
_TIMEOUT = 5.0


class IssuedKeys:
    """Asks the account service whose a key is; about one key only once at a time."""

    def __init__(self, accounts: "AccountServiceAsyncStub", acting: ServiceCredentials) -> None:
        self._accounts = accounts
        self._acting = acting
        self._known: TTLCache[bytes, Principal | None] = TTLCache(REMEMBERED)

    async def holder(self, key: str) -> Principal | None:
        """Return whom a key stands for; None if it is of no use.

        Raises:
            UnavailableError: The account service does not tell.
        """
        if len(key) > _LONGEST:
            return None
        digest = hashlib.sha256(key.encode("utf-8", "replace")).digest()  # the key is not kept
        return await self._known.get(digest, lambda: self._ask(key))

    async def _ask(self, key: str) -> Principal | None:
        try:
            with self._acting.as_service():
                found = await self._accounts.ResolveKey(
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
        identity = Identity(found.subject, found.organization, tuple(found.scopes))
        return Principal(identity, found.trusted)
