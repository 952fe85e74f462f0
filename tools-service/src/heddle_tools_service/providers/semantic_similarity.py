"""Compares a request with the descriptions of tools, using models of the knowledge service."""

import asyncio
from collections.abc import Iterable, Sequence
from operator import mul

import structlog
from heddle.knowledge.v1 import knowledge_pb2
from heddle.knowledge.v1.knowledge_pb2_grpc import KnowledgeServiceAsyncStub
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.identity.call_metadata import new_call_options

log = structlog.get_logger(__name__)

_MAX_TEXT_CHARACTERS = 1_000
_MAX_EXAMPLES = 8
_CLOSEST = 2
"""The number of a tool's texts that count, the closest ones."""
_MAX_VECTORS = 2_000
"""The maximum number of cached vectors, which the next decision of a run compares again."""
_BATCH = 256
"""The number of texts in one call."""
_TIME_FRACTION = 0.5
"""The share of a call's time: without similarities the tools are still assessed."""
_WEIGHTS = {"all-MiniLM-L6-v2-int8": 0.2, "multilingual-e5-small-q4": 0.8}
"""The models. The similarities of the second lie four times closer together than those of the
first."""


class SemanticSimilarity:
    """Compares requests with tools, by two models of the knowledge service.

    all-MiniLM-L6-v2 reads English well and nothing else; multilingual-e5-small reads a hundred
    languages and separates short texts less well.
    """

    def __init__(self, knowledge: KnowledgeServiceAsyncStub) -> None:
        """Take the knowledge service, which embeds texts."""
        self._knowledge = knowledge
        self._vectors: dict[tuple[str, str], Sequence[float]] = {}

    async def compare(
        self, request: str, assessments: Iterable[pb.Assessment], remaining: float
    ) -> None:
        """Set the affinity of all available tools, or of none.

        Args:
            request: The words of the user.
            assessments: The tools. Changed in place.
            remaining: Seconds until the deadline of the call.
        """
        tools = [each for each in assessments if each.available]
        if not request.strip() or len(tools) < _CLOSEST:
            return
        try:
            async with asyncio.timeout(remaining * _TIME_FRACTION):
                similarities = await self._similarities(
                    request[:_MAX_TEXT_CHARACTERS], tools, remaining
                )
        except Exception as error:  # noqa: BLE001 - a model that cannot be loaded is no tool's fault
            log.warning("tools not compared", why=str(error) or type(error).__name__)
            return
        for tool, similarity in zip(tools, similarities, strict=True):
            tool.affinity = similarity

    async def _similarities(
        self, request: str, tools: Sequence[pb.Assessment], remaining: float
    ) -> list[float]:
        texts = [_texts(tool) for tool in tools]
        every = list(dict.fromkeys([request, *(text for some in texts for text in some)]))
        similarities = [0.0] * len(tools)
        for model, weight in _WEIGHTS.items():
            vectors = await self._embed(model, every, remaining)
            question = vectors[request]
            for at, some in enumerate(texts):
                scores = (sum(map(mul, question, vectors[text])) for text in some)
                near = sorted(scores, reverse=True)[:_CLOSEST]
                similarities[at] += weight * sum(near) / len(near)
        return similarities

    async def _embed(
        self, model: str, texts: Sequence[str], remaining: float
    ) -> dict[str, Sequence[float]]:
        """Return the vectors of texts. Only those of new texts are requested."""
        keys = {text: (model, text) for text in texts}
        vectors = {text: self._vectors[key] for text, key in keys.items() if key in self._vectors}
        missing = [text for text in texts if text not in vectors]
        for start in range(0, len(missing), _BATCH):
            batch = missing[start : start + _BATCH]
            request = knowledge_pb2.EmbedTextsRequest(
                texts=batch, model=model, kind=knowledge_pb2.EMBEDDING_KIND_QUERY
            )
            response = await self._knowledge.EmbedTexts(request, **new_call_options(remaining))
            vectors |= zip(batch, (each.values for each in response.embeddings), strict=True)
        self._vectors |= {keys[text]: vectors[text] for text in missing}
        for key in list(self._vectors)[:-_MAX_VECTORS]:  # the oldest
            del self._vectors[key]
        return vectors


def _texts(tool: pb.Assessment) -> list[str]:
    function = tool.function
    purpose = f"{function.name.replace('_', ' ')}: {function.description}"
    examples = [each.request for each in tool.examples[:_MAX_EXAMPLES]]
    return [text[:_MAX_TEXT_CHARACTERS] for text in (purpose, *examples) if text.strip()]
