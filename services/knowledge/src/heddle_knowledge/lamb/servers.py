"""Finds the knowledge-base server of an owner, and searches its collections."""

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import structlog
from heddle.account.v1 import account_pb2
from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_runtime.egress import server_address
from heddle_runtime.errors import HeddleError
from heddle_runtime.organization_settings import OrganizationSettings

from heddle_knowledge.access import Owner
from heddle_knowledge.errors import (
    BackendError,
    BackendUnavailableError,
    CollectionNotFoundError,
    KnowledgeError,
)
from heddle_knowledge.lamb.client import (
    CONFIGURATION_ERROR,
    NO_COLLECTION,
    KnowledgeServer,
    query_collection,
    query_store,
)
from heddle_knowledge.lamb.knowledge_stores import KnowledgeStores

log = structlog.get_logger(__name__)
ServerOf = Callable[[Owner], Awaitable[KnowledgeServer | None]]
"""Returns the knowledge-base server of an owner, if there is one."""
WithheldAt = Callable[[Owner, KnowledgeServer, Collection[str]], Awaitable[Collection[str]]]
"""Returns which of some collections at a server an owner may not search. One call for several."""


async def none_withheld(*_: object) -> Collection[str]:
    """Withhold nothing: there is no registry."""
    return ()


_NO_SERVER = (
    "set knowledge_base in the organisation's settings, or HEDDLE_KNOWLEDGE_KB_URL for all; "
    "knowledge stores of LAMB are known after `heddle import-lamb`"
)


@dataclass(frozen=True, slots=True)
class OwnerServers:
    """Finds the server of an owner. No organisation can search the server of another."""

    settings: OrganizationSettings | None
    """None: without accounts, everything belongs to the operator."""
    operators: KnowledgeServer | None
    """The server that the service's own settings name."""
    shared: bool = False
    """Whether every organisation without a server of its own may search the operator's."""

    async def __call__(self, owner: Owner) -> KnowledgeServer | None:
        """Return the server of the owner's organisation, if there is one.

        Raises:
            BackendError: The organisation's settings cannot be used.
            BackendUnavailableError: They cannot be read now.
        """
        if self.settings is None:
            return self.operators
        try:
            settings = await self.settings.of(owner.organization, owner.name)
        except HeddleError as error:
            log.error("settings cannot be had", reason=error.reason)  # noqa: TRY400 - the other service is at fault
            raise BackendUnavailableError(
                f"{CONFIGURATION_ERROR} the organisation's settings cannot be had at the moment"
            ) from None
        if settings.HasField("knowledge"):
            try:
                return KnowledgeServer(
                    server_address(settings.knowledge.url),
                    settings.knowledge.token,
                    guarded=not settings.system,
                )
            except ValueError as error:
                raise BackendError(
                    f"{CONFIGURATION_ERROR} the server in the organisation's settings {error}"
                ) from None
        return self.operators if settings.system or self.shared else None


@dataclass(frozen=True, slots=True)
class KnowledgeServers:
    """All knowledge-base servers that the service can reach."""

    server_of: ServerOf
    http: httpx.AsyncClient
    guarded_http: httpx.AsyncClient
    """For servers that organisations name."""
    withheld_at: WithheldAt = none_withheld
    stores: KnowledgeStores | None = None
    """LAMB's knowledge stores, if there is a registry."""

    async def search(
        self,
        owner: Owner,
        collection: str,
        together: Sequence[str],
        body: Mapping[str, Any],
        *,
        sections: bool,
        missing: str = "",
    ) -> list[pb.Passage]:
        """Search one collection at the server of an owner.

        Args:
            owner: With whose rights.
            collection: The server's own identifier of the collection.
            together: All collections of the call, so that the registry is asked once.
            body: `query_text`, `top_k` and `threshold`.
            sections: Whether to return the sections around passages.
            missing: The beginning of the error if no server is configured.

        Raises:
            BackendError: No server is configured, or it refuses, or answers nonsense.
            BackendUnavailableError: It does not answer.
            CollectionNotFoundError: It has no such collection, or none is configured and the
                collection is `missing` here.
        """
        names = together if collection in together else (collection,)
        store = await self._store(owner, collection, names)
        if store is not None and not store.withheld:
            return await self._search_store(store, body)
        server = await self._server(owner)
        if server is None:
            kind = CollectionNotFoundError if missing else BackendError
            message = f"{CONFIGURATION_ERROR} {missing}no knowledge-base server is configured"
            raise kind(message) from BackendError(_NO_SERVER)
        if store is not None or collection in await self._withheld(owner, server, names):
            raise CollectionNotFoundError(NO_COLLECTION)
        http = self.guarded_http if server.guarded else self.http
        return await query_collection(http, server, collection, body, sections=sections)

    async def _store(
        self, owner: Owner, collection: str, collections: Sequence[str]
    ) -> account_pb2.RegisteredStore | None:
        if self.stores is None:
            return None
        with _available("the organisation's settings cannot be had at the moment"):
            return (await self.stores.registered(owner, collections)).get(collection)

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

    async def _server(self, owner: Owner) -> KnowledgeServer | None:
        try:
            return await self.server_of(owner)
        except KnowledgeError:
            raise
        except Exception as error:
            # The error can repeat a token, so the log gets its type alone.
            log.error("knowledge-base configuration not read", error=type(error).__name__)  # noqa: TRY400 - see above
            raise BackendError(f"{CONFIGURATION_ERROR} it cannot be read") from error

    async def _withheld(
        self, owner: Owner, server: KnowledgeServer, collections: Sequence[str]
    ) -> Collection[str]:
        with _available("whose collections these are cannot be told at the moment"):
            return await self.withheld_at(owner, server, collections)


def _has_answered(error: BackendUnavailableError) -> bool:
    """Return whether a server has answered that it failed: then no connection failed before."""
    return error.__cause__ is not None and error.__cause__.__cause__ is None


@contextmanager
def _available(otherwise: str) -> Iterator[None]:
    """Report that the account service does not answer."""
    try:
        yield
    except HeddleError as error:
        log.error("collections' owners cannot be had", reason=error.reason)  # noqa: TRY400 - the other service is at fault
        raise BackendUnavailableError(f"{CONFIGURATION_ERROR} {otherwise}") from None
