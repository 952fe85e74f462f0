"""`heddle.knowledge.v1.KnowledgeService`."""

from heddle.knowledge.v1 import knowledge_pb2_grpc as pb_grpc

from heddle_knowledge.service.collections import CollectionCalls
from heddle_knowledge.service.documents import DocumentCalls
from heddle_knowledge.service.searches import SearchCalls


class KnowledgeServicer(
    CollectionCalls, DocumentCalls, SearchCalls, pb_grpc.KnowledgeServiceServicer
):
    """Translates between the contract and the engine."""
