"""`heddle.knowledge.v1.KnowledgeService`."""

from heddle.knowledge.v1 import knowledge_pb2_grpc as pb_grpc

from heddle_knowledge.service.collection_searches import CollectionSearchCalls
from heddle_knowledge.service.collections import CollectionCalls
from heddle_knowledge.service.document_queries import DocumentQueryCalls
from heddle_knowledge.service.documents import DocumentCalls
from heddle_knowledge.service.embeddings import EmbeddingCalls
from heddle_knowledge.service.graphs import GraphCalls
from heddle_knowledge.service.pages import PageCalls


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
