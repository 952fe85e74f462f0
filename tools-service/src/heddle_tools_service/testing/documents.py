"""Scripted passages, pages and model: they return what a test defines and record their requests."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from heddle_tools_service.capabilities.pages import InterpretPageResponse, PageMatch, PageMatches
from heddle_tools_service.capabilities.passages import (
    NO_OPTIONS,
    FailedSearch,
    Passage,
    PassageResults,
    SearchOptions,
)
from heddle_tools_service.sdk import ToolError


@dataclass(frozen=True)
class SearchRequest:
    """A search that a tool made."""

    collections: tuple[str, ...]
    query: str
    top_k: int
    options: SearchOptions = NO_OPTIONS


@dataclass(kw_only=True)
class _Scripted:
    failure: FailedSearch | None = None
    error: Exception | None = None
    """Raised by every search."""
    delay: float = 0.0
    """Seconds that a search takes."""
    requests: list[SearchRequest] = field(default_factory=list)

    async def _record(self, request: SearchRequest) -> None:
        self.requests.append(request)
        await asyncio.sleep(self.delay)
        if self.error:
            raise self.error


@dataclass
class ScriptedPassages(_Scripted):
    """Returns `by_query[query]`, else `passages`; or fails as the test defines."""

    passages: Sequence[Passage] = ()
    by_query: Mapping[str, Sequence[Passage]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    documents: bool = True
    """Whether the collections contain documents."""

    async def have_documents(self, collections: Sequence[str]) -> bool:
        """Return the value that the test set; False without collections."""
        return self.documents and bool(collections)

    async def search(
        self,
        collections: Sequence[str],
        query: str,
        *,
        top_k: int,
        threshold: float = 0.0,
        sections: bool = False,
        options: SearchOptions = NO_OPTIONS,
    ) -> PassageResults:
        """Record the request and return the scripted passages, at most `top_k`."""
        await self._record(SearchRequest(tuple(collections), query, top_k, options))
        if self.failure:
            return PassageResults(failures=(self.failure,))
        passages = self.by_query.get(query, self.passages)
        return PassageResults(tuple(passages)[:top_k], warnings=self.warnings)


@dataclass
class ScriptedPages(_Scripted):
    """Returns the same pages for every query, or fails as the test defines."""

    pages: Sequence[PageMatch] = ()

    async def search(
        self, collections: Sequence[str], query: str, *, top_k: int, threshold: float = 0.0
    ) -> PageMatches:
        """Record the request and return the scripted pages of this score, at most `top_k`."""
        await self._record(SearchRequest(tuple(collections), query, top_k))
        if self.failure:
            return PageMatches(failures=(self.failure,))
        pages = tuple(page for page in self.pages if page.score >= threshold)
        return PageMatches(pages[:top_k], model="words-of-pages", visual=False)

    async def find(self, _: Sequence[str], picture_uri: str) -> PageMatch:
        """Return the page with this picture."""
        for page in self.pages:
            if page.picture_uri == picture_uri:
                return page
        raise ToolError("There is no such page.")

    async def interpret(self, page: PageMatch, prompt: str) -> InterpretPageResponse:
        """Return a text that names the page and the prompt."""
        text = f"Seen on {page.page}: {prompt}"
        return InterpretPageResponse(text=text, model="scripted", visual=True)


@dataclass
class ScriptedModel:
    """Returns its answers in order, then the last one again. Use it as `SmallModel(model, 5)`."""

    answers: Sequence[str | Exception]
    delay: float = 0.0
    """Seconds that an answer takes."""
    prompts: list[str] = field(default_factory=list)
    token_limits: list[int] = field(default_factory=list)
    """The `max_tokens` of each call."""

    async def __call__(self, prompt: str, /, *, timeout: float, max_tokens: int) -> str:  # noqa: ASYNC109 - the signature of the capability
        """Record the prompt and return, or raise, the next answer."""
        self.prompts.append(prompt)
        self.token_limits.append(max_tokens)
        await asyncio.sleep(self.delay)
        answer = self.answers[min(len(self.prompts), len(self.answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer
