"""Finds the knowledge-base server of an owner, and searches its collections."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import urlsplit

import httpx
import structlog
from heddle.account.v1 import account_pb2
from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_knowledge.collection.access import Owner
from heddle_knowledge.collection.shared_registry import SharedRegistry
from heddle_knowledge.errors import (
    BackendError,
    BackendUnavailableError,
    CollectionNotFoundError,
    KnowledgeError,
)
from heddle_runtime.errors import HeddleError

from heddle_migration_service.searches.client import (
    CONFIGURATION_ERROR,
    NO_COLLECTION,
    KnowledgeServer,
    query_collection,
    query_store,
)
from heddle_migration_service.searches.organization_servers import (
    UNAVAILABLE,
    KnowledgeStores,
    ServerOf,
)

log = structlog.get_logger(__name__)
_PORTS = {"http": 80, "https": 443}
_RERANKINGS_OF_NONE = frozenset({pb.RERANKING_UNSPECIFIED, pb.RERANKING_NONE})
_HYBRID_MODES = frozenset({pb.SEARCH_MODE_UNSPECIFIED, pb.SEARCH_MODE_HYBRID})
_NO_SERVER = (
    "set knowledge_base in the organisation's settings, or HEDDLE_KNOWLEDGE_KB_URL for all; "
    "knowledge stores of LAMB are known after `heddle import-lamb`"
)


@dataclass(frozen=True, slots=True)
class KnowledgeServers:
    """All knowledge-base servers that the service can reach."""

    backend: ClassVar[str] = "lamb-kb"
    server_of: ServerOf
    http: httpx.AsyncClient
    guarded_http: httpx.AsyncClient
    """For servers that organisations name."""
    stores: KnowledgeStores | None = None
    """LAMB's knowledge stores, if there is a registry."""
    registry: SharedRegistry | None = None
    operators_url: str = ""
    """The address of the operator's own server; empty if there is none."""

    async def search(
        self,
        owner: Owner,
        collection: str,
        request: pb.SearchCollectionsRequest,
        top_k: int,
        missing: str,
    ) -> pb.CollectionPassages:
        """Search one collection at the server of an owner; see `CollectionSource.search`."""
        body = {"query_text": request.query, "top_k": top_k, "threshold": request.threshold}
        # All collections of the call, so that the registry is asked once.
        together = tuple(request.collections)
        names = together if collection in together else (collection,)
        registered = await self._registered(owner, names)
        store = next((each for each in registered.stores if each.id == collection), None)
        if store is not None and not store.withheld:
            passages = await self._search_store(store, body)
        else:
            server = await self._server(owner, missing)
            withheld = (it for it in registered.withheld if it.id == collection)
            urls = {_origin(it.server_url or self.operators_url) for it in withheld}
            if store is not None or _origin(server.url) in urls:  # each numbers its own collections
                raise CollectionNotFoundError(NO_COLLECTION)
            http = self.guarded_http if server.guarded else self.http
            passages = await query_collection(
                http, server, collection, body, sections=request.sections
            )
        return pb.CollectionPassages(passages=passages, ignored_fields=_ignored(request))

    async def _registered(
        self, owner: Owner, collections: Sequence[str]
    ) -> account_pb2.ResolveCollectionsResponse:
        """Return what the registry has of some collections: nothing for the operator."""
        if self.registry is None or not (owner.name or owner.organization):
            return account_pb2.ResolveCollectionsResponse()
        request = account_pb2.ResolveCollectionsRequest(
            ids=collections, owner=owner.name, organization=owner.organization
        )
        try:
            return await self.registry.resolve(request)
        except HeddleError as error:
            log.error("collections' owners cannot be had", reason=error.reason)  # noqa: TRY400 - the other service is at fault
            raise BackendUnavailableError(UNAVAILABLE) from None

    async def _search_store(
        self, store: account_pb2.RegisteredStore, body: Mapping[str, Any]
    ) -> list[pb.Passage]:
        assert self.stores is not None  # noqa: S101 - it found the store
        server, credentials = await self.stores.target(store)
        http = self.guarded_http if server.guarded else self.http
        try:
            return await query_store(http, server, store.id, body, credentials)
        except BackendUnavailableError as error:
            if not (credentials["api_key"] and _has_answered(error)):
                raise
            place = f"providers.{store.embedding_vendor}.api_key"
            raise BackendUnavailableError(
                f"{error} If it goes on, check {place} in the organisation's settings: the server "
                "embeds the question with this key."
            ) from error

    async def _server(self, owner: Owner, missing: str) -> KnowledgeServer:
        try:
            server = await self.server_of(owner)
        except KnowledgeError:
            raise
        except Exception as error:
            # The error can repeat a token, so the log gets its type alone.
            log.error("knowledge-base configuration not read", error=type(error).__name__)  # noqa: TRY400 - see above
            raise BackendError(f"{CONFIGURATION_ERROR} it cannot be read") from error
        if server is None:
            kind = CollectionNotFoundError if missing else BackendError
            message = f"{CONFIGURATION_ERROR} {missing}no knowledge-base server is configured"
            raise kind(message) from BackendError(_NO_SERVER)
        return server


def _has_answered(error: BackendUnavailableError) -> bool:
    """Return whether a server has answered that it failed: then no connection failed before."""
    return error.__cause__ is not None and error.__cause__.__cause__ is None


def _origin(url: str) -> tuple[str, str, int | None, str]:
    """Return what is the same for all ways to write an address."""
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:  # settings may hold anything; it is nobody's server
        port = -1
    scheme = parts.scheme
    return scheme, parts.hostname or "", port or _PORTS.get(scheme), parts.path.rstrip("/")


def _ignored(request: pb.SearchCollectionsRequest) -> list[str]:
    """Return the fields that a knowledge-base server ignores and that could change the result."""
    fields = {
        "mode": request.mode not in _HYBRID_MODES,
        "filter": request.HasField("filter"),
        "document_time_from": request.HasField("document_time_from"),
        "document_time_to": request.HasField("document_time_to"),
        "recency_weight": bool(request.recency_weight),
        "reranking": request.reranking not in _RERANKINGS_OF_NONE,
    }
    return [name for name, ignored in fields.items() if ignored]
