"""What this package adds to the gateway: LAMB's interfaces, its tokens, and the way to it."""

from heddle.assistant.v1 import following_pb2
from heddle_gateway.auth.issued_keys import AccountClient
from heddle_gateway.extensions import Additions, Extension
from heddle_gateway.routing.transcoded import operations
from heddle_gateway.settings import GatewaySettings

from heddle_migration_service.knowledge_server import (
    added_documents,
    ingestion,
    ingestion_jobs,
    ingestion_plugins,
    kb_settings,
    knowledge_base_files,
    knowledge_bases,
)
from heddle_migration_service.lti import lamb_links, links
from heddle_migration_service.lti.platforms import open_platforms
from heddle_migration_service.proxy.lamb_server import LambServer
from heddle_migration_service.proxy.settings import LambSettings
from heddle_migration_service.proxy.user_tokens import LambTokens
from heddle_migration_service.rest import (
    assistants,
    catalog,
    chat,
    creator_defaults,
    imports,
    migration,
)

_MODULES = (
    *(chat, catalog, assistants, imports, creator_defaults, migration),
    *(knowledge_bases, knowledge_base_files, ingestion, ingestion_jobs, ingestion_plugins),
    *(added_documents, kb_settings, lamb_links, links),
)
_OF_THE_KNOWLEDGE_SERVER = (
    *("/collections", "/organizations", "/query", "/ingestion"),
    *("/api/collections", "/config", "/database"),
)


def _additions(
    settings: LambSettings, gateway: GatewaySettings, accounts: AccountClient
) -> Additions:
    """Return what LAMB's settings add to a gateway."""
    open_platforms(settings, gateway)
    token = None if gateway.api_key else settings.bearer_token
    keys = [token] if token else []
    if not settings.url:
        return Additions(keys=keys)
    secret = settings.jwt_secret
    # Without the secret, LAMB's tokens are valid in LAMB only.
    issuers = [LambTokens(secret.get_secret_value(), accounts)] if secret else []
    return Additions(issuers, keys, LambServer(settings, gateway))


EXTENSION = Extension(
    name=LambServer.name,
    settings_class=LambSettings,
    open=_additions,
    operations=[
        *(operation for module in _MODULES for operation in module.routes.operations),
        *operations("following", following_pb2.DESCRIPTOR),
    ],
    tags={
        knowledge_bases.TAG: "Collections, in the form of LAMB's knowledge-base server.",
        "migration": "The way from LAMB, as jobs in the background.",
        lamb_links.TAG: "Launches of links in courses of a learning platform (LTI).",
        "creator": "Assistants in the form of LAMB's frontend and command.",
    },
    paths_with_detail=("/creator/assistant", f"{chat.PATH}/", *_OF_THE_KNOWLEDGE_SERVER),
)
