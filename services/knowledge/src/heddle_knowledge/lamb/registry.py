"""Whose collections are and with whom they are shared, by the registry imported from LAMB."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from heddle.account.v1 import account_pb2 as pb
from heddle.account.v1 import account_pb2_grpc as pb_grpc
from heddle_runtime.organization_settings import CACHE_SECONDS, Channel
from heddle_runtime.service_credentials import ServiceCredentials
from heddle_runtime.ttl_cache import TTLCache

from heddle_knowledge.access import Owner
from heddle_knowledge.lamb.client import KnowledgeServer

if TYPE_CHECKING:  # a class of the stubs alone
    from heddle.account.v1.account_pb2_grpc import AccountServiceAsyncStub

SharesOfLamb = Callable[[str, Collection[str]], Awaitable[bool]]
"""Returns whether LAMB shares one of some identifiers with the members of an organisation."""
_PORTS = {"http": 80, "https": 443}


class RegisteredCollections:
    """Asks the account service with the credentials of the knowledge service."""

    def __init__(self, accounts: Channel, acting: ServiceCredentials, operators: str) -> None:
        """Keep the address of the operator's own server; empty if there is none."""
        self._accounts: AccountServiceAsyncStub = pb_grpc.AccountServiceStub(accounts)  # type: ignore[arg-type] # a local channel stands for a real one
        self._acting = acting
        self._operators = operators
        self._known: TTLCache[bytes, pb.ResolveCollectionsResponse] = TTLCache(CACHE_SECONDS)

    async def shared(self, organization: str, collections: Collection[str]) -> bool:
        """Return whether the registry shares one of some identifiers with an organisation.

        Raises:
            HeddleError: The account service does not answer.
        """
        request = pb.ResolveCollectionsRequest(ids=collections, organization=organization)
        return bool((await self._response(request)).shared)

    async def __call__(
        self, owner: Owner, server: KnowledgeServer, collections: Collection[str]
    ) -> Collection[str]:
        """Return which of some collections at a server an owner may not search.

        Each server numbers its own collections. The operator may search everything.

        Raises:
            HeddleError: The account service does not answer.
        """
        if not owner.name and not owner.organization:
            return ()
        request = pb.ResolveCollectionsRequest(
            ids=collections, owner=owner.name, organization=owner.organization
        )
        response = await self._response(request)
        origin = _origin(server.url)
        return {
            each.id
            for each in response.withheld
            if _origin(each.server_url or self._operators) == origin
        }

    async def stores(
        self, owner: Owner, collections: Collection[str]
    ) -> Mapping[str, pb.RegisteredStore]:
        """Return those of some collections that are LAMB's knowledge stores, by identifier.

        The operator has none: they are searched with the key of an organisation.

        Raises:
            HeddleError: The account service does not answer.
        """
        if not owner.name and not owner.organization:
            return {}
        request = pb.ResolveCollectionsRequest(
            ids=collections, owner=owner.name, organization=owner.organization
        )
        return {each.id: each for each in (await self._response(request)).stores}

    async def _response(
        self, request: pb.ResolveCollectionsRequest
    ) -> pb.ResolveCollectionsResponse:
        return await self._known.get(
            request.SerializeToString(),
            lambda: self._acting.call(self._accounts.ResolveCollections, request),
        )


def _origin(url: str) -> tuple[str, str, int | None, str]:
    """Return what is the same for all ways to write an address."""
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:  # settings may hold anything; it is nobody's server
        port = -1
    scheme = parts.scheme
    return scheme, parts.hostname or "", port or _PORTS.get(scheme), parts.path.rstrip("/")
