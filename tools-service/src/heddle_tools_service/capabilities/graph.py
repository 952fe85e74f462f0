"""Capability: graphs of the names that documents mention together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from heddle.knowledge.v1.knowledge_pb2 import (
    Evidence,
    GraphLink,
    GraphPath,
    GraphSummary,
    GraphTheme,
    UnknownEntity,
)

from heddle_tools_service.capabilities.passages import FailedSearch

__all__ = [
    "Evidence",
    "Graph",
    "GraphLink",
    "GraphPath",
    "GraphResults",
    "GraphSummary",
    "GraphTheme",
    "UnknownEntity",
]


@dataclass(frozen=True, slots=True)
class GraphResults:
    """The answer of graphs, in the messages of `heddle.knowledge.v1`."""

    summary: GraphSummary
    themes: Sequence[GraphTheme] = ()
    paths: Sequence[GraphPath] = ()
    unknown: Sequence[UnknownEntity] = ()
    """The names of the request that the graphs do not have."""
    failures: tuple[FailedSearch, ...] = ()
    warnings: tuple[str, ...] = ()
    """What is missing in the graphs, one sentence each."""


class Graph(Protocol):
    """The graphs of names of the collections that the assistant may search.

    A collection that cannot be read is in the results with its error.
    """

    async def themes(
        self, collections: Sequence[str], *, max_results: int, query: str = ""
    ) -> GraphResults:
        """Return the themes of `collections` that are mentioned most, at most `max_results`.

        Those with names that have a word of `query` come first.

        Raises:
            ToolUnavailableError: No graph can be read.
        """

    async def paths(
        self, collections: Sequence[str], start: str, end: str, *, max_results: int
    ) -> GraphResults:
        """Return the connections of two names: up to `max_results` short paths that share no name.

        Raises:
            ToolUnavailableError: The graphs give no answer.
        """
