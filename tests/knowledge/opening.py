"""A store that is open, for those who ask for one when they need it, and the services over it."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from heddle.knowledge.v1 import files_pb2_grpc, knowledge_pb2_grpc
from heddle_knowledge.audit.events import WaitingEvents
from heddle_knowledge.audit.recording import AuditOutbox
from heddle_knowledge.collection.shared_registry import Shares, none_shared
from heddle_knowledge.database.opening import KnowledgeDatabase
from heddle_knowledge.document_queries.query_workers import QueryWorkers
from heddle_knowledge.embedders.embedding import Embedder
from heddle_knowledge.external.collections import ExternalCollections
from heddle_knowledge.models.interpreters import TextInterpreter
from heddle_knowledge.service.calls import Backends
from heddle_knowledge.service.failures import TranslatedFailures
from heddle_knowledge.service.servicer import KnowledgeServicer
from heddle_knowledge.store import KnowledgeStore
from heddle_knowledge.uploads.deletions import FileDeletions
from heddle_knowledge.uploads.file_ingestion import Sources
from heddle_knowledge.uploads.ingestion_queue import DEFAULT_LIMITS, IngestionQueue, QueueLimits
from heddle_knowledge.uploads.servicer import FileServicer
from heddle_knowledge.uploads.stores import open_file_stores
from heddle_knowledge.web.fetching import WebDocuments
from heddle_knowledge.web.transcripts import Transcripts
from heddle_runtime.http.egress import Egress, Network
from heddle_runtime.http.guarded_http import new_client
from heddle_runtime.identity.grants import GrantVerifier
from heddle_runtime.serving.background import repeating
from heddle_runtime.serving.server import Binding, bind
from heddle_runtime.settings.local_secret import OF_THIS_PROCESS


@dataclass(frozen=True)
class Web:
    """Which private networks documents may be fetched from, how slowly, and where YouTube is."""

    networks: tuple[Network, ...] = ()
    seconds: float = 30.0
    youtube: str = "http://youtube.invalid"

    def sources(self, guarded: httpx.AsyncClient) -> Sources:
        """Return what reads attached files."""
        documents = WebDocuments(guarded, self.seconds)
        return Sources(documents, Transcripts(documents, self.youtube))


NOWHERE = Web()


def opening(store: KnowledgeStore) -> Callable[[], Awaitable[KnowledgeStore]]:
    """Return what opens a store that is open already."""

    async def opened() -> KnowledgeStore:
        return store

    return opened


async def no_embedders() -> Sequence[Embedder]:
    return ()


_CLIENT = httpx.AsyncClient()
_NO_SERVERS = ExternalCollections(_CLIENT, _CLIENT, Egress(), no_embedders, None)


async def forget_nothing(_: str) -> None:
    """Do nothing: no files are attached to collections."""


def backends_of(queries: QueryWorkers, **more: Any) -> Backends:
    """Return backends without secrets and models, except those in `more`."""
    defaults = {
        "grants": GrantVerifier(OF_THIS_PROCESS.get_secret_value()),
        "interpreter": TextInterpreter(),
        "embedders": no_embedders,
        "audit": AuditOutbox(WaitingEvents(KnowledgeDatabase("", Path())), None),
        "forget_files": forget_nothing,
        "search_seconds": 10.0,
        "sources": {},
        "external": _NO_SERVERS,
    }
    return Backends(queries=queries, **defaults | more)  # type: ignore[arg-type] # each of its own field


@asynccontextmanager
async def waiting_events(folder: Path) -> AsyncIterator[WaitingEvents]:
    """Yield where events wait in a folder of their own."""
    async with aclosing(KnowledgeDatabase("", folder)) as database:
        yield WaitingEvents(database)


@asynccontextmanager
async def knowledge_and_files(
    store: KnowledgeStore,
    folder: Path,
    limits: QueueLimits = DEFAULT_LIMITS,
    shares: Shares = none_shared,
    web: Web = NOWHERE,
    **more: Any,
) -> AsyncIterator[list[Binding]]:
    """Yield the knowledge service and the file service over a store, in their order.

    `more` are backends, as `backends_of` takes them.
    """
    opened = opening(store)
    async with (
        new_client(5.0, Egress(web.networks)) as guarded,
        open_file_stores("", folder) as stores,
        IngestionQueue(stores, opened, web.sources(guarded), limits) as queue,
        repeating(FileDeletions(opened, queue).complete, 0.1, "deletions not completed"),
        aclosing(QueryWorkers()) as queries,
    ):
        backends = backends_of(queries, forget_files=queue.forget_all, shares=shares, **more)
        yield [
            bind(
                knowledge_pb2_grpc.add_KnowledgeServiceServicer_to_server,
                TranslatedFailures(KnowledgeServicer(opened, backends)),
            ),
            bind(
                files_pb2_grpc.add_FileServiceServicer_to_server,
                TranslatedFailures(
                    FileServicer(opened, queue, backends.audit, backends.grants, shares)
                ),
            ),
        ]
