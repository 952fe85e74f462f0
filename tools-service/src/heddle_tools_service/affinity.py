"""How near a request is to what tools say they are for, by the models that ship with Heddle."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import structlog
from heddle.tool.v1 import tool_pb2 as pb

if TYPE_CHECKING:
    from heddle_knowledge.embedders.embedding import LocalEmbedder

log = structlog.get_logger(__name__)

_LONGEST = 1_000
"""Characters of a text that are compared."""
_MOST_EXAMPLES = 8
_CLOSEST = 2
"""Of a tool's texts, as many count."""
_PART = 0.5
"""Of the time of a call: the tools are told without affinities rather than not at all."""


class Affinities:
    """Compares requests with tools. The models are loaded when it is first asked.

    Two models, because each is blind where the other sees: all-MiniLM-L6-v2 reads English well and
    nothing else, multilingual-e5-small reads a hundred languages and tells short texts apart less
    well. The vectors of tools are remembered. Close it to end its threads.
    """

    def __init__(self) -> None:
        self._models: Sequence[tuple[float, LocalEmbedder]] = ()

    async def tell(self, asked: str, told: Iterable[pb.Assessment], left: float) -> None:
        """Set the affinity of the available tools, or of none of them.

        Args:
            asked: What a person asks.
            told: The tools. Are changed.
            left: Seconds that are left of the call.
        """
        tools = [each for each in told if each.available]
        if not asked.strip() or len(tools) < _CLOSEST:
            return
        try:
            async with asyncio.timeout(left * _PART):
                found = [await self._affinity(asked[:_LONGEST], each) for each in tools]
        except TimeoutError:
            log.warning("tools not compared", why="it takes too long")
            return
        except Exception as error:  # noqa: BLE001 - a model that cannot be loaded is no tool's fault
            log.warning("tools not compared", why=str(error))
            return
        for each, affinity in zip(tools, found, strict=True):
            each.affinity = affinity

    async def aclose(self) -> None:
        """End the threads."""
        for _, model in self._models:
            await model.aclose()

    async def _affinity(self, asked: str, tool: pb.Assessment) -> float:
        function = tool.function
        says = f"{function.name.replace('_', ' ')}: {function.description}"
        examples = [each.request for each in tool.examples[:_MOST_EXAMPLES]]
        texts = [each[:_LONGEST] for each in (says, *examples) if each.strip()]
        total = 0.0
        for weight, model in self._loaded():
            question, *others = await model.embed([asked, *texts], "query")
            near = sorted((float(question @ each) for each in others), reverse=True)[:_CLOSEST]
            total += weight * sum(near) / len(near)
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
