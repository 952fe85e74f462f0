"""`heddle.knowledge.v1.KnowledgeService`."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from heddle.knowledge.v1 import knowledge_pb2_grpc as pb_grpc
from heddle_runtime.grants import GrantVerifier

from heddle_knowledge.document_queries.query_workers import QueryWorkers
from heddle_knowledge.lamb.servers import KnowledgeServers
from heddle_knowledge.models.interpreters import Interpreter
from heddle_knowledge.service.collection_searches import CollectionSearchCalls
from heddle_knowledge.service.collections import CollectionCalls
from heddle_knowledge.service.document_queries import DocumentQueryCalls
from heddle_knowledge.service.documents import DocumentCalls
from heddle_knowledge.service.embeddings import Embedders, EmbeddingCalls
from heddle_knowledge.service.graphs import GraphCalls
from heddle_knowledge.service.pages import PageCalls

if TYPE_CHECKING:  # loads the engine
    from heddle_knowledge.store import KnowledgeStore


@dataclass(frozen=True, slots=True)
class Backends:
    """What the servicer uses besides the store.

    Attributes:
        servers: The knowledge-base servers of organisations.
        queries: Runs queries over documents.
        grants: Verifies grants.
        interpreter: Looks at the pictures of pages.
        embedders: Returns the embedding models, the default one first.
        forget_files: Called with the id of a deleted collection.
        search_seconds: How long the search of one collection may take.
    """

    servers: KnowledgeServers
    queries: QueryWorkers
    grants: GrantVerifier
    interpreter: Interpreter
    embedders: Embedders
    forget_files: Callable[[str], Awaitable[None]]
    search_seconds: float


class KnowledgeServicer(
    CollectionCalls,
    DocumentCalls,
    CollectionSearchCalls,
    PageCalls,
    GraphCalls,
    DocumentQueryCalls,
    EmbeddingCalls,
    pb_grpc.KnowledgeServiceServicer,
):
    """Translates between the contract and the engine."""

    def __init__(
        self, store: "Callable[[], Awaitable[KnowledgeStore]]", backends: Backends
    ) -> None:
        """Take the store, which opens at first use, and the rest.

        Args:
            store: Returns the open store.
            backends: What the servicer uses besides.
        """
        super().__init__(store, backends.grants)
        self._servers = backends.servers
        self._queries = backends.queries
        self._interpreter = backends.interpreter
        self._embedders = backends.embedders
        self._deleted = backends.forget_files
        self._search_seconds = backends.search_seconds
