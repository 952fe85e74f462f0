"""The search providers: the request that each takes, and what its response says.

The functions implement `SearchBy`.
"""

from collections.abc import Mapping
from typing import Any

import httpx

from heddle_tools_service.capabilities.web_search import WebAnswer, WebResult
from heddle_tools_service.providers.web_search.sites import (
    SearchBy,
    SearchSite,
    ask,
    entries,
    links,
    plain,
    results,
    text,
)
from heddle_tools_service.sdk import ToolError

_BRAVE_MAX_QUERY_CHARS = 400
_BRAVE_MAX_WORDS = 50
_BRAVE_MAX_RESULTS = 20


async def perplexity(
    http: httpx.AsyncClient, site: SearchSite, query: str, max_results: int
) -> WebAnswer:
    """Search with Perplexity, which answers in words and names the pages that it read."""
    who = "Perplexity"
    body = {"model": "sonar", "messages": [{"role": "user", "content": query}]}
    response = await ask(http, site, who, "POST", "/chat/completions", json=body)
    answer = ""
    for choice in entries(response, "choices", who):
        message = choice.get("message")
        answer = answer or text(message.get("content") if isinstance(message, dict) else None)
    pages = entries(response, "search_results", who)
    listed = results(pages, max_results, snippet="snippet", published="date")
    citations = tuple(links(response.get("citations")))
    if not answer and not listed and not citations:
        raise ToolError(f"The answer of {who} cannot be read: it has neither words nor results.")
    # Some models return addresses only.
    listed = listed or tuple(WebResult(url, url) for url in citations)[:max_results]
    return WebAnswer("perplexity", answer, listed, citations)


async def tavily(
    http: httpx.AsyncClient, site: SearchSite, query: str, max_results: int
) -> WebAnswer:
    """Search with Tavily, which finds passages of pages and can summarise them."""
    body = {"query": query, "max_results": max_results, "include_answer": True}
    response = await ask(http, site, "Tavily", "POST", "/search", json=body)
    pages = entries(response, "results", "Tavily")
    listed = results(pages, max_results, snippet="content", published="published_date")
    return _answer("tavily", text(response.get("answer")), listed)


async def brave(
    http: httpx.AsyncClient, site: SearchSite, query: str, max_results: int
) -> WebAnswer:
    """Search with Brave, which has its own index and takes queries of 50 words."""
    words = " ".join(query.split()[:_BRAVE_MAX_WORDS])[:_BRAVE_MAX_QUERY_CHARS]
    response = await ask(
        http,
        site,
        "Brave Search",
        "GET",
        "/web/search",
        params={"q": words, "count": min(max_results, _BRAVE_MAX_RESULTS)},
        headers={"X-Subscription-Token": site.key, "Accept": "application/json"},
    )
    web = response.get("web") or {}
    if not isinstance(web, Mapping):
        raise ToolError("The answer of Brave Search cannot be read: its web is no object.")
    pages = entries(web, "results", "Brave Search")
    listed = results(pages, max_results, snippet="description", published="page_age")
    return _answer("brave", "", listed)


async def searxng(
    http: httpx.AsyncClient, site: SearchSite, query: str, max_results: int
) -> WebAnswer:
    """Search with a SearXNG, which asks other engines. A key is for a proxy in front of it."""
    parameters = {"q": query, "format": "json"}
    response = await ask(http, site, "SearXNG", "GET", "/search", params=parameters)
    pages = entries(response, "results", "SearXNG")
    listed = results(pages, max_results, snippet="content", published="publishedDate")
    return _answer("searxng", _instant_answer(response), listed)


PROVIDERS: Mapping[str, SearchBy] = {
    "perplexity": perplexity,
    "tavily": tavily,
    "brave": brave,
    "searxng": searxng,
}
"""The providers by name, the preferred one first."""
URLS = {
    "perplexity": "https://api.perplexity.ai",
    "tavily": "https://api.tavily.com",
    "brave": "https://api.search.brave.com/res/v1",
}
"""The addresses of the providers that have a public one."""


def _answer(provider: str, words: str, listed: tuple[WebResult, ...]) -> WebAnswer:
    return WebAnswer(provider, words, listed, tuple(result.url for result in listed))


def _instant_answer(response: Mapping[str, Any]) -> str:
    """Return the first instant answer: a text, or in newer versions an object with one."""
    answers = response.get("answers")
    first = answers[0] if isinstance(answers, list) and answers else ""
    return plain(first.get("answer") if isinstance(first, dict) else first)
