"""What this package adds to the knowledge service: searches of LAMB's servers."""

from heddle_knowledge.service.extensions import ServiceParts
from heddle_runtime.redaction import register_secrets
from heddle_runtime.settings.service import read

from heddle_migration_service.searches.client import KNOWLEDGE_STORES, KnowledgeServer
from heddle_migration_service.searches.organization_servers import (
    TOKEN_SETTING,
    KnowledgeStores,
    OwnerServers,
)
from heddle_migration_service.searches.servers import KnowledgeServers
from heddle_migration_service.searches.settings import SearchSettings


def open_servers(parts: ServiceParts, settings: SearchSettings | None = None) -> KnowledgeServers:
    """Return the servers that a knowledge service can reach; by default by the environment."""
    settings = settings or read(SearchSettings)
    register_secrets(settings)
    operators = stores_server = None
    if settings.kb_url:
        operators = KnowledgeServer(settings.kb_url, settings.kb_token.get_secret_value())
    server_of = OwnerServers(parts.organizations, operators, shared=settings.kb_shared)
    if parts.registry is None or parts.organizations is None:
        return KnowledgeServers(server_of, parts.http, parts.guarded_http)
    if settings.lamb_stores_url:
        stores_server = KnowledgeServer(
            settings.lamb_stores_url,
            settings.lamb_stores_token.get_secret_value(),
            name=KNOWLEDGE_STORES,
            token_setting=TOKEN_SETTING,
        )
    stores = KnowledgeStores(parts.organizations, stores_server)
    return KnowledgeServers(
        server_of, parts.http, parts.guarded_http, stores, parts.registry, settings.kb_url
    )
