"""Capability: searches of the web."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class WebResult:
    """A page of the web that was found."""

    title: str
    url: str
    """An http or https address."""
    snippet: str = ""
    """The part of the page about the question, as plain text."""
    published: str = ""
    """The date of publication in the provider's form; empty if it is not known."""


@dataclass(frozen=True, slots=True)
class WebAnswer:
    """The results of a web search."""

    provider: str
    answer: str = ""
    """The provider's own answer in words; empty if it gives none."""
    results: tuple[WebResult, ...] = ()
    """The best first."""
    citations: tuple[str, ...] = ()
    """The addresses that `[1]`, `[2]` and so on in `answer` stand for; else those of `results`."""


class WebSearch(Protocol):
    """The web, by the search provider that is set up for the assistant."""

    async def providers(self) -> tuple[str, ...]:
        """Return the names of the providers that are set up, the preferred one first.

        Raises:
            ToolUnavailableError: The settings of the organisation cannot be read.
        """

    async def search(self, query: str, *, max_results: int, provider: str = "") -> WebAnswer:
        """Search the web.

        Args:
            query: The query.
            max_results: Limits the results.
            provider: The name of a provider; empty for the preferred one.

        Raises:
            ToolError: No provider is set up, or it refuses or returns an invalid answer. No
                message holds a key.
            ToolUnavailableError: It does not answer, is broken or busy.
        """
