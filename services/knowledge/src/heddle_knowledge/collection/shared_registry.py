"""The registry of imported collections at the account service."""

from collections.abc import Awaitable, Callable, Collection

from heddle.account.v1 import account_pb2 as pb
from heddle.account.v1 import account_pb2_grpc as pb_grpc
from heddle.account.v1.account_pb2_grpc import AccountServiceAsyncStub
from heddle_runtime.identity.service_credentials import ServiceCredentials
from heddle_runtime.rpc.organization_settings import CACHE_SECONDS, Channel
from heddle_runtime.rpc.ttl_cache import TTLCache

Shares = Callable[[str, Collection[str]], Awaitable[bool]]
"""Returns whether the registry shares one of some identifiers with an organisation's members."""


async def none_shared(*_: object) -> bool:
    """Share nothing: there is no registry."""
    return False


class SharedRegistry:
    """Asks the account service with the credentials of the knowledge service."""

    def __init__(self, accounts: Channel, credentials: ServiceCredentials) -> None:
        self._accounts: AccountServiceAsyncStub = pb_grpc.AccountServiceStub(accounts)  # type: ignore[arg-type] # a local channel stands for a real one
        self._credentials = credentials
        self._known: TTLCache[bytes, pb.ResolveCollectionsResponse] = TTLCache(CACHE_SECONDS)

    async def shared(self, organization: str, collections: Collection[str]) -> bool:
        """Return whether the registry shares one of some identifiers with an organisation.

        Raises:
            HeddleError: The account service does not answer.
        """
        request = pb.ResolveCollectionsRequest(ids=collections, organization=organization)
        return bool((await self.resolve(request)).shared)

    async def resolve(self, request: pb.ResolveCollectionsRequest) -> pb.ResolveCollectionsResponse:
        """Return the registry's entries of some collections, at most 5 seconds old.

        Raises:
            HeddleError: The account service does not answer.
        """
        return await self._known.get(
            request.SerializeToString(),
            lambda: self._credentials.call(self._accounts.ResolveCollections, request),
        )
