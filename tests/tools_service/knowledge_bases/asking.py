"""Tools that ask a knowledge-base server and the embedded store."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from heddle_knowledge.store import KnowledgeStore
from heddle_tools_service.capabilities.small_model import Generate
from heddle_tools_service.providers.kb_server import KnowledgeServer
from heddle_tools_service.providers.knowledge_bases import KnowledgeBases, ServerOf
from heddle_tools_service.sdk import Assistant
from integration.browser import browser
from knowledge.kb_server import KnowledgeBaseServer
from knowledge.opening import opening
from tools_service.serving import Client, discovering, no_server, said, serving

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
    async def known(_: Assistant) -> KnowledgeServer | None:
        return KnowledgeServer(server.url, TOKEN) if server else await no_server(_)

    async with browser() as http:
        bases = KnowledgeBases(opening(store), server_of or known, http, http, 1.0)
        async with serving(discovering(None), knowledge=bases, small_model=small_model) as client:
            yield client
