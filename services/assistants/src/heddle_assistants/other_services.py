"""The clients of the services that this one asks. They start later than it."""

from dataclasses import dataclass

from heddle.connector.v1.connector_pb2_grpc import ConnectorServiceAsyncStub
from heddle.knowledge.v1.knowledge_pb2_grpc import KnowledgeServiceAsyncStub
from heddle.orchestrator.v1.orchestrator_pb2_grpc import OrchestratorServiceAsyncStub


@dataclass(slots=True)
class OtherServices:
    """The clients. What would need one that is missing is not checked."""

    orchestrator: "OrchestratorServiceAsyncStub | None" = None
    connectors: "ConnectorServiceAsyncStub | None" = None
    knowledge: "KnowledgeServiceAsyncStub | None" = None
