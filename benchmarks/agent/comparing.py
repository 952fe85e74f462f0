"""Computes the affinities of tools, as the tools service does when a run begins."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from heddle.knowledge.v1 import knowledge_pb2_grpc
from heddle.tool.v1 import tool_pb2
from heddle_knowledge.app import app
from heddle_knowledge.settings import NOWHERE, KnowledgeSettings
from heddle_orchestrator.agent.decision import Candidate
from heddle_runtime.serving.server import running
from heddle_tools_service.providers.semantic_similarity import SemanticSimilarity

_SECONDS = 600.0


@asynccontextmanager
async def local_similarity() -> AsyncGenerator[SemanticSimilarity]:
    """Yield what compares requests with tools, with a knowledge service of this process."""
    settings = KnowledgeSettings(listen="127.0.0.1:0", assistants_address=NOWHERE, drain_wait=0)
    async with running(app(settings), settings) as service:
        yield SemanticSimilarity(knowledge_pb2_grpc.KnowledgeServiceStub(service.local))


async def compared(
    similarity: SemanticSimilarity, request: str, tools: Sequence[Candidate]
) -> list[Candidate]:
    """Return the tools with their similarity, as `AssessTools` tells them."""
    assessments = [
        tool_pb2.Assessment(
            id=each.name,
            available=True,
            function=each.declaration,
            examples=[tool_pb2.ToolExample(request=example) for example, _ in each.examples],
        )
        for each in tools
    ]
    await similarity.compare(request, assessments, _SECONDS)
    return [
        replace(each, affinity=assessment.affinity) if assessment.HasField("affinity") else each
        for each, assessment in zip(tools, assessments, strict=True)
    ]
