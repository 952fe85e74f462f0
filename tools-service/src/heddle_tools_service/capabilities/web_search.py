"""How a tool searches the web."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class WebResult:
    """A page of the web that was found."""

    title: str
    url: str
    """An http or https address."""
    snippet: str = ""
    """What it says about the question, plain text."""
    published: str = ""
    """When, as the provider tells it; empty if it does not."""


@dataclass(frozen=True, slots=True)
class WebAnswer:
    """What a search of the web found."""

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
            ToolUnavailableError: It cannot be told at the moment.
        """

    async def search(self, query: str, *, max_results: int, provider: str = "") -> WebAnswer:
        """Search the web.

        Args:
            query: What to look for.
            max_results: Limits the results.
            provider: Whom to ask; empty for the preferred one.

        Raises:
            ToolError: No provider is set up, or it refuses or answers nonsense. The message
                never holds a key.
            ToolUnavailableError: It does not answer, is broken or busy.
        """
