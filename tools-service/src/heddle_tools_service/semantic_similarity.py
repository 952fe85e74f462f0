"""Compares a request with the descriptions of tools, using the embedding models of Heddle."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import structlog
from heddle.tool.v1 import tool_pb2 as pb

if TYPE_CHECKING:
    from heddle_knowledge.embedders.embedding import LocalEmbedder

log = structlog.get_logger(__name__)

_MAX_CHARS = 1_000
"""Of each text that is compared."""
_MAX_EXAMPLES = 8
_MIN_TEXTS = 2
"""The number of a tool's texts that count: the most similar ones."""
_TIME_FRACTION = 0.5
"""Of a call's time. When it is over, the assessments are sent without similarities."""


class SemanticSimilarity:
    """Compares requests with tools. The models are loaded at the first comparison.

    Two models complement each other: all-MiniLM-L6-v2 supports English only,
    multilingual-e5-small supports a hundred languages and separates short texts less well. The
    vectors of tools are cached. `aclose` ends the threads.
    """

    def __init__(self) -> None:
        self._models: Sequence[tuple[float, LocalEmbedder]] = ()

    async def compare(
        self, request: str, assessments: Iterable[pb.Assessment], remaining: float
    ) -> None:
        """Set the affinity of all available tools, or of none.

        Args:
            request: What the user asks for.
            assessments: The tools. Changed in place.
            remaining: Seconds until the deadline of the call.
        """
        tools = [each for each in assessments if each.available]
        if not request.strip() or len(tools) < _MIN_TEXTS:
            return
        try:
            async with asyncio.timeout(remaining * _TIME_FRACTION):
                similarities = [
                    await self._similarity(request[:_MAX_CHARS], each) for each in tools
                ]
        except TimeoutError:
            log.warning("tools not compared", why="it takes too long")
            return
        except Exception as error:  # noqa: BLE001 - without a model the agent works with the rest
            log.warning("tools not compared", why=str(error))
            return
        for each, similarity in zip(tools, similarities, strict=True):
            each.affinity = similarity

    async def aclose(self) -> None:
        """End the threads."""
        for _, model in self._models:
            await model.aclose()

    async def _similarity(self, request: str, tool: pb.Assessment) -> float:
        function = tool.function
        description = f"{function.name.replace('_', ' ')}: {function.description}"
        examples = [each.request for each in tool.examples[:_MAX_EXAMPLES]]
        texts = [each[:_MAX_CHARS] for each in (description, *examples) if each.strip()]
        total = 0.0
        for weight, model in self._loaded():
            question, *others = await model.embed([request, *texts], "query")
            scores = sorted((float(question @ each) for each in others), reverse=True)[:_MIN_TEXTS]
            total += weight * sum(scores) / len(scores)
        return total

    def _loaded(self) -> Sequence[tuple[float, "LocalEmbedder"]]:
        """Return the models with their weights.

        The similarities of the second lie four times closer together than those of the first.
        """
        if not self._models:
            from heddle_knowledge.embedders.embedding import (  # noqa: PLC0415 (slow)
                MiniLmEmbedder,
                MultilingualE5Embedder,
            )

            self._models = ((0.2, MiniLmEmbedder()), (0.8, MultilingualE5Embedder()))
        return self._models
