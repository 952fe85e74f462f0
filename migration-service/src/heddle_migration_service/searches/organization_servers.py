"""The servers of organisations, and what opens their providers of embeddings."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

import structlog
from heddle.account.v1 import account_pb2
from heddle_knowledge.collection.access import Owner
from heddle_knowledge.errors import BackendError, BackendUnavailableError, CollectionNotFoundError
from heddle_runtime.errors import HeddleError
from heddle_runtime.http.egress import server_address
from heddle_runtime.rpc.organization_settings import OrganizationSettings

from heddle_migration_service.searches.client import (
    CONFIGURATION_ERROR,
    KNOWLEDGE_STORES,
    NO_COLLECTION,
    KnowledgeServer,
)

log = structlog.get_logger(__name__)
ServerOf = Callable[[Owner], Awaitable[KnowledgeServer | None]]
"""Returns the knowledge-base server of an owner, if there is one."""
UNAVAILABLE = f"{CONFIGURATION_ERROR} the organisation's settings cannot be had at the moment"
TOKEN_SETTING = "HEDDLE_KNOWLEDGE_LAMB_STORES_TOKEN"  # noqa: S105 - the name of a variable
_KEYLESS = frozenset({"local", "ollama"})
"""Providers of embeddings that need no key."""
_NO_SERVER = (
    f"{CONFIGURATION_ERROR} no knowledge-store server is configured; set knowledge_store in the "
    "organisation's settings, or HEDDLE_KNOWLEDGE_LAMB_STORES_URL for all"
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
            KnowledgeError: The organisation's settings cannot be used, or not be read now.
        """
        if self.settings is None:
            return self.operators
        settings = await _settings_of(self.settings, owner.organization, owner.name)
        if settings.HasField("knowledge"):
            return _server_in_settings(settings, settings.knowledge, "the server in")
        return self.operators if settings.system or self.shared else None


@dataclass(frozen=True, slots=True)
class KnowledgeStores:
    """Finds the servers of stores and the keys of their organisations."""

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
            KnowledgeError: No server is set up, or the organisation has no key, or it is closed.
        """
        settings = await _settings_of(self.settings, store.organization)
        if not settings.organization:
            raise CollectionNotFoundError(NO_COLLECTION)
        return self._server(settings), _credentials(store, settings)

    def _server(self, settings: account_pb2.ResolveSettingsResponse) -> KnowledgeServer:
        if not settings.HasField("knowledge_store"):
            if self.operators is None:
                raise BackendError(_NO_SERVER)
            return self.operators
        return _server_in_settings(
            settings,
            settings.knowledge_store,
            "knowledge_store.server_url in",
            name=KNOWLEDGE_STORES,
            token_setting="knowledge_store.api_token in the organisation's settings",  # noqa: S106 - a place
        )


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


async def _settings_of(
    settings: OrganizationSettings, organization: str, owner: str = ""
) -> account_pb2.ResolveSettingsResponse:
    """Return the settings of an organisation.

    Raises:
        BackendUnavailableError: The account service does not answer.
    """
    try:
        return await settings.of(organization, owner)
    except HeddleError as error:
        log.error("settings cannot be had", reason=error.reason)  # noqa: TRY400 - the other service is at fault
        raise BackendUnavailableError(UNAVAILABLE) from None


def _server_in_settings(
    settings: account_pb2.ResolveSettingsResponse,
    server: account_pb2.KnowledgeServer,
    place: str,
    **more: str,
) -> KnowledgeServer:
    """Return the server that settings name at a place, with further members.

    Raises:
        BackendError: Its address is none.
    """
    try:
        url = server_address(server.url)
    except ValueError as error:
        raise BackendError(
            f"{CONFIGURATION_ERROR} {place} the organisation's settings {error}"
        ) from None
    return KnowledgeServer(url, server.token, guarded=not settings.system, **more)
