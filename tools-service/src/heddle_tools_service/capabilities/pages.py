"""Capability: searches for pages and their images."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from heddle.knowledge.v1.knowledge_pb2 import InterpretPageResponse

from heddle_tools_service.capabilities.passages import FailedSearch

__all__ = ["InterpretPageResponse", "PageMatch", "PageMatches", "Pages"]


@dataclass(frozen=True, slots=True)
class PageMatch:
    """A page of a document that matches a question."""

    collection: str
    document: str
    document_id: str
    title: str
    uri: str
    page: int
    """Counted from 1."""
    score: float
    """The relevance, 0.0 to 1.0, comparable between questions and collections."""
    text: str
    """The text on the page."""
    figures: tuple[str, ...] = ()
    """The texts in its figures and tables."""
    picture_uri: str = ""
    """The address of its picture, relative to the gateway."""


@dataclass(frozen=True, slots=True)
class PageMatches:
    """The pages that a search found, the best first."""

    pages: tuple[PageMatch, ...] = ()
    failures: tuple[FailedSearch, ...] = ()
    model: str = ""
    """The model that ranked the pages."""
    visual: bool = False
    """Whether that model compares pictures rather than only the text on pages."""


class Pages(Protocol):
    """The pages of the collections that the assistant may search."""

    async def search(
        self, collections: Sequence[str], query: str, *, top_k: int, threshold: float = 0.0
    ) -> PageMatches:
        """Search the pages of all `collections` at once.

        Args:
            collections: Their names.
            query: The question.
            top_k: The maximum number of pages.
            threshold: The least score; 0 means any.

        Returns:
            Pages, the best first. A collection that fails is listed in `failures`.
        """

    async def find(self, collections: Sequence[str], picture_uri: str) -> PageMatch:
        """Return the page of a picture, with a score of 0.0.

        Args:
            collections: Where it may be: their names.
            picture_uri: As `PageMatch.picture_uri`.

        Raises:
            ToolError: The address names no page of `collections`. The message does not say why.
        """

    async def interpret(self, page: PageMatch, prompt: str) -> InterpretPageResponse:
        """Let the vision model look at the picture of a page.

        Args:
            page: As `search` or `find` returned it.
            prompt: The question about the page.

        Returns:
            What it sees; without a vision model what is written on the page, `visual` being False.

        Raises:
            ToolError: The page is not there any more, or the model refuses.
            ToolUnavailableError: The model does not answer.
        """
