"""LAMB's knowledge stores: which server has one, and what opens its provider of embeddings."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass

import structlog
from heddle.account.v1 import account_pb2
from heddle_runtime.egress import server_address
from heddle_runtime.errors import HeddleError
from heddle_runtime.organization_settings import OrganizationSettings

from heddle_knowledge.access import Owner
from heddle_knowledge.errors import (
    BackendError,
    BackendUnavailableError,
    CollectionNotFoundError,
)
from heddle_knowledge.lamb.client import (
    CONFIGURATION_ERROR,
    KNOWLEDGE_STORES,
    NO_COLLECTION,
    KnowledgeServer,
)

log = structlog.get_logger(__name__)
RegisteredStores = Callable[
    [Owner, Collection[str]], Awaitable[Mapping[str, account_pb2.RegisteredStore]]
]
"""Returns those of some identifiers that are knowledge stores, by identifier."""
TOKEN_SETTING = "HEDDLE_KNOWLEDGE_LAMB_STORES_TOKEN"  # noqa: S105 - the name of a variable
_KEYLESS = frozenset({"local", "ollama"})
"""Providers of embeddings that need no key."""
_NO_SERVER = (
    f"{CONFIGURATION_ERROR} no knowledge-store server is configured; set knowledge_store in the "
    "organisation's settings, or HEDDLE_KNOWLEDGE_LAMB_STORES_URL for all"
)


@dataclass(frozen=True, slots=True)
class KnowledgeStores:
    """Finds stores, their servers and the keys of their organisations."""

    registered: RegisteredStores
    settings: OrganizationSettings
    operators: KnowledgeServer | None
    """Serves organisations that have no such server of their own, as in LAMB."""

    async def target(
        self, store: account_pb2.RegisteredStore
    ) -> tuple[KnowledgeServer, Mapping[str, str]]:
        """Return the server of a store that may be searched, and credentials of its provider.

        The key is the organisation's that owns the store. It goes to the server alone that this
        organisation or the operator has set up.

        Raises:
            BackendError: No server is set up, or the organisation has no key.
            BackendUnavailableError: The settings of the organisation are not available.
            CollectionNotFoundError: The organisation is closed.
        """
        try:
            settings = await self.settings.of(store.organization, "")
        except HeddleError as error:
            log.error("settings cannot be had", reason=error.reason)  # noqa: TRY400 - the other service is at fault
            raise BackendUnavailableError(
                f"{CONFIGURATION_ERROR} the organisation's settings cannot be had at the moment"
            ) from None
        if not settings.organization:
            raise CollectionNotFoundError(NO_COLLECTION)
        return self._server(settings), _credentials(store, settings)

    def _server(self, settings: account_pb2.ResolveSettingsResponse) -> KnowledgeServer:
        if not settings.HasField("knowledge_store"):
            if self.operators is None:
                raise BackendError(_NO_SERVER)
            return self.operators
        try:
            return KnowledgeServer(
                server_address(settings.knowledge_store.url),
                settings.knowledge_store.token,
                guarded=not settings.system,
                name=KNOWLEDGE_STORES,
                token_setting="knowledge_store.api_token in the organisation's settings",  # noqa: S106 - a place
            )
        except ValueError as error:
            raise BackendError(
                f"{CONFIGURATION_ERROR} knowledge_store.server_url in the organisation's settings "
                f"{error}"
            ) from None


def _credentials(
    store: account_pb2.RegisteredStore, settings: account_pb2.ResolveSettingsResponse
) -> Mapping[str, str]:
    vendor = store.embedding_vendor
    provider = settings.providers.get(vendor)
    key = provider.api_key if provider else ""
    if not key and vendor not in _KEYLESS:
        raise BackendError(
            f"{CONFIGURATION_ERROR} the organisation has no key of {vendor[:100]!r}, which embeds "
            f"questions to this knowledge store; set providers.{vendor[:100]}.api_key in the "
            "organisation's settings"
        )
    return {"api_key": key, "api_endpoint": store.embedding_endpoint}
