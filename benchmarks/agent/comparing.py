"""What the tool service says of the tools when a run begins: how near each is to the request."""

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
    told = [
        tool_pb2.Assessment(
            id=each.name,
            available=True,
            function=each.declaration,
            examples=[tool_pb2.ToolExample(request=asked) for asked, _ in each.examples],
        )
        for each in tools
    ]
    await similarity.compare(request, told, _SECONDS)
    return [
        replace(each, affinity=found.affinity) if found.HasField("affinity") else each
        for each, found in zip(tools, told, strict=True)
    ]
