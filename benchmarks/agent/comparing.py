"""Computes the affinities of tools, as the tools service does when a run begins."""

from collections.abc import Sequence
from dataclasses import replace

from heddle.tool.v1 import tool_pb2
from heddle_orchestrator.agent.decision import Candidate
from heddle_tools_service.semantic_similarity import SemanticSimilarity

_SECONDS = 600.0


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
