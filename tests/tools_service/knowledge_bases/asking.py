"""Tools that ask a knowledge-base server and the embedded store."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from heddle_knowledge.collection.access import Owner
from heddle_knowledge.store import KnowledgeStore
from heddle_migration_service.searches.client import KnowledgeServer
from heddle_migration_service.searches.organization_servers import ServerOf
from heddle_tools_service.capabilities.small_model import Generate
from knowledge.kb_server import KnowledgeBaseServer
from knowledge.serving import knowledge_stub
from tools_service.serving import Client, discovering, said, serving

TOKEN = "kb-token-that-must-not-leak"
ASKED = said("What is a shed?")


@asynccontextmanager
async def serving_with(
    store: KnowledgeStore,
    server: KnowledgeBaseServer | None = None,
    *,
    server_of: ServerOf | None = None,
    small_model: Generate | None = None,
) -> AsyncGenerator[Client]:
    async def known(_: Owner) -> KnowledgeServer | None:
        return KnowledgeServer(server.url, TOKEN) if server else None

    async with (
        knowledge_stub(store, server_of=server_of or known, search_seconds=1.0) as knowledge,
        serving(discovering(None), knowledge=knowledge, small_model=small_model) as client,
    ):
        yield client
