"""Whose the collections of knowledge-base servers are, by the registry that came from LAMB."""

from collections.abc import Collection
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from heddle.account.v1 import account_pb2 as pb
from heddle.account.v1 import account_pb2_grpc as pb_grpc
from heddle_runtime.organization_settings import REMEMBERED, Channel
from heddle_runtime.service_credentials import ServiceCredentials
from heddle_runtime.ttl_cache import TTLCache

from heddle_tools_service.providers.kb_server import KnowledgeServer
from heddle_tools_service.sdk import Assistant

if TYPE_CHECKING:  # a class of the stubs alone
    from heddle.account.v1.account_pb2_grpc import AccountServiceAsyncStub

_PORTS = {"http": 80, "https": 443}


class RegisteredCollections:
    """Asks the account service, in the tool service's own name."""

    def __init__(self, accounts: Channel, acting: ServiceCredentials, operators: str) -> None:
        """Remember where the operator's own server is, an empty text if there is none."""
        self._accounts: AccountServiceAsyncStub = pb_grpc.AccountServiceStub(accounts)  # type: ignore[arg-type] # a local channel stands for a real one
        self._acting = acting
        self._operators = operators
        self._known: TTLCache[bytes, pb.ResolveCollectionsResponse] = TTLCache(REMEMBERED)

    async def __call__(
        self, assistant: Assistant, server: KnowledgeServer, collections: Collection[str]
    ) -> Collection[str]:
        """Return which of some collections at a server are not for the owner of `assistant`.

        Servers number their collections: one of another server is another one. An assistant of
        nobody's is the operator's, who may search everything.

        Raises:
            HeddleError: It cannot be told.
        """
        if not assistant.owner and not assistant.organization:
            return ()
        request = pb.ResolveCollectionsRequest(
            ids=collections, owner=assistant.owner, organization=assistant.organization
        )
        found = await self._known.get(
            request.SerializeToString(),
            lambda: self._acting.call(self._accounts.ResolveCollections, request),
        )
        asked = _origin(server.url)
        return {
            each.id
            for each in found.withheld
            if _origin(each.server_url or self._operators) == asked
        }


def _origin(url: str) -> tuple[str, str, int | None, str]:
    """Return what is the same for all ways to write an address."""
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:  # settings may hold anything; it is nobody's server
        port = -1
    scheme = parts.scheme
    return scheme, parts.hostname or "", port or _PORTS.get(scheme), parts.path.rstrip("/")
