"""The knowledge service over a store of the test, for those who call it in the same process."""

from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx
from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle.knowledge.v1 import knowledge_pb2_grpc as pb_grpc
from heddle_knowledge.document_queries.query_workers import QueryWorkers
from heddle_knowledge.service.extensions import CollectionSource
from heddle_knowledge.service.failures import TranslatedFailures
from heddle_knowledge.service.servicer import KnowledgeServicer
from heddle_knowledge.store import KnowledgeStore
from heddle_runtime.identity.grants import GrantVerifier
from heddle_runtime.serving.server import Binding, bind, running
from heddle_runtime.settings.local_secret import OF_THIS_PROCESS
from heddle_runtime.settings.service import ServiceSettings
from integration.browser import browser
from knowledge.opening import backends_of, opening
from optional_member import IS_INSTALLED

if TYPE_CHECKING:  # a class of the stubs alone, and the optional member
    from heddle.knowledge.v1.knowledge_pb2_grpc import KnowledgeServiceAsyncStub
    from heddle_migration_service.searches.organization_servers import ServerOf

CONTRACT = pb.DESCRIPTOR.services_by_name["KnowledgeService"]
SETTINGS = ServiceSettings(listen="127.0.0.1:0", drain_wait=0)


async def no_store() -> KnowledgeStore:
    raise AssertionError("the store is not part of this test")


@asynccontextmanager
async def knowledge_binding(
    store: KnowledgeStore | None = None,
    *,
    server_of: "ServerOf | None" = None,
    secret: str = OF_THIS_PROCESS.get_secret_value(),
    queries: QueryWorkers | None = None,
    **more: Any,
) -> AsyncGenerator[list[Binding]]:
    """Yield the knowledge service over a store; without one, over none.

    Its processes for queries are those of `queries`, if tests share them.
    """
    async with browser() as http, aclosing(QueryWorkers()) as own:
        queries = queries or own
        sources = _sources(server_of, http) if IS_INSTALLED else {}
        backends = backends_of(queries, grants=GrantVerifier(secret), sources=sources, **more)
        servicer = KnowledgeServicer(opening(store) if store else no_store, backends)
        register = pb_grpc.add_KnowledgeServiceServicer_to_server
        yield [bind(register, TranslatedFailures(servicer))]


def _sources(server_of: "ServerOf | None", http: httpx.AsyncClient) -> dict[str, CollectionSource]:
    """Return LAMB's servers as a source of searches; without `server_of`, none is known."""
    from heddle_migration_service.searches.organization_servers import (  # noqa: PLC0415 - optional
        OwnerServers,
    )
    from heddle_migration_service.searches.servers import KnowledgeServers  # noqa: PLC0415 - optional

    servers = server_of or OwnerServers(None, None)
    return {KnowledgeServers.backend: KnowledgeServers(servers, http, http)}


@asynccontextmanager
async def knowledge_stub(
    store: KnowledgeStore | None = None, **options: Any
) -> AsyncGenerator["KnowledgeServiceAsyncStub"]:
    """Yield a stub of the knowledge service over a store, within the process."""
    async with running(knowledge_binding(store, **options), SETTINGS) as service:
        yield pb_grpc.KnowledgeServiceStub(service.local)
