"""How a tool asks what is named beside what."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from heddle_tools_service.capabilities.passages import FailedSearch, Passage


@dataclass(frozen=True, slots=True)
class Mentions:
    """What a part of a graph rests on."""

    passages: int
    """In how many passages it stands."""
    shown: tuple[Passage, ...]
    """The most telling of them."""


@dataclass(frozen=True, slots=True)
class Theme:
    """Names that stand together more than with others."""

    names: tuple[str, ...]
    """The most central first."""
    size: int
    """Names in all."""
    within: tuple[tuple[str, ...], ...]
    """The central names of the themes inside of it, the largest first."""
    mentions: Mentions


@dataclass(frozen=True, slots=True)
class Link:
    """Two names that stand in one passage; what they have to do with each other is not known."""

    start: str
    end: str
    mentions: Mentions


@dataclass(frozen=True, slots=True)
class GraphResults:
    """What graphs say."""

    names: int
    """In the graphs."""
    links: int
    documents: int
    """In the graphs."""
    themes: tuple[Theme, ...] = ()
    paths: tuple[tuple[Link, ...], ...] = ()
    unknown: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Names that were asked about and are not in the graphs, each with similar ones that are."""
    failures: tuple[FailedSearch, ...] = ()
    warnings: tuple[str, ...] = ()
    """What is not in the graphs."""


class Graph(Protocol):
    """The graphs of names of the collections that the assistant may search.

    A collection that cannot be asked is told, not raised.
    """

    async def themes(
        self, collections: Sequence[str], *, max_results: int, query: str = ""
    ) -> GraphResults:
        """Return the themes of `collections` that are mentioned most, at most `max_results`.

        Those with names that have a word of `query` come first.

        Raises:
            ToolUnavailableError: The graphs give no answer.
        """

    async def paths(
        self, collections: Sequence[str], start: str, end: str, *, max_results: int
    ) -> GraphResults:
        """Return how two names are connected: up to `max_results` short paths that share no name.

        Raises:
            ToolUnavailableError: The graphs give no answer.
        """
