"""The search providers that an assistant uses, with the keys of its organisation or operator."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx
from heddle_runtime.http.egress import server_address
from heddle_runtime.rpc.organization_settings import OrganizationSettings

from heddle_tools_service.capabilities.web_search import WebAnswer, WebResult
from heddle_tools_service.providers.owner_settings import settings_of
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
from heddle_tools_service.sdk import Assistant, ToolError

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


CONFIGURATION_ERROR = "Web search configuration error:"
_REMEDY = (
    "Set providers.perplexity, tavily, brave or searxng, with api_key or base_url, in the "
    "settings of the organisation; for the operator's assistants, HEDDLE_TOOLS_WEB_SEARCH_KEYS or "
    "HEDDLE_TOOLS_WEB_SEARCH_SEARXNG_URL."
)


@dataclass(frozen=True, slots=True)
class AssistantWeb:
    """The web as an assistant may search it: the capability `WebSearch`."""

    http: httpx.AsyncClient
    guarded_http: httpx.AsyncClient
    """The client for addresses that organisations have configured."""
    settings: OrganizationSettings | None
    """None if no service has settings of organisations."""
    operators: Mapping[str, SearchSite]
    """The providers in the service's own settings."""
    shared: bool
    """Whether organisations without a provider use the operator's."""
    assistant: Assistant

    async def providers(self) -> tuple[str, ...]:
        """Return the names of the providers that are set up."""
        _, sites = await self._sites()
        return tuple(sites)

    async def search(self, query: str, *, max_results: int, provider: str = "") -> WebAnswer:
        """Search the web."""
        http, sites = await self._sites()
        name = provider or next(iter(sites), "")
        if name not in sites:
            raise ToolError(
                "Web search is not set up here. Ask the administrator of your organisation.",
                kind="not_configured",
                diagnosis=f"{name or 'no provider'} of web searches is set up. {_REMEDY}",
            )
        return await PROVIDERS[name](http, sites[name], query, max_results)

    async def _sites(self) -> tuple[httpx.AsyncClient, Mapping[str, SearchSite]]:
        """Return the providers that are set up, and the client that may reach them."""
        settings = await settings_of(self.settings, self.assistant, CONFIGURATION_ERROR)
        own = {}
        for name in PROVIDERS:
            provider = settings.providers.get(name)
            if provider is None or not provider.enabled:
                continue
            site = _site(name, provider.base_url, provider.api_key)
            if site is not None:
                own[name] = site
        if settings.system:  # the operator's own: they may be anywhere
            return self.http, {**self.operators, **own}
        if not own and self.shared:
            return self.http, self.operators
        return self.guarded_http, own


def operators_sites(keys: Mapping[str, str], searxng_url: str) -> dict[str, SearchSite]:
    """Return the search providers that the operator has set up, in the order of preference.

    Args:
        keys: By provider.
        searxng_url: The address of a SearXNG; empty if there is none.
    """
    sites = {
        name: _site(name, searxng_url if name == "searxng" else "", keys.get(name, ""))
        for name in PROVIDERS
    }
    return {name: site for name, site in sites.items() if site is not None}


def _site(name: str, url: str, key: str) -> SearchSite | None:
    if name != "searxng" and not key:
        return None
    try:
        address = server_address(url) if url else URLS.get(name, "")
    except ValueError as error:
        raise ToolError(
            f"{CONFIGURATION_ERROR} the address of {name} is not valid. Ask the administrator of "
            "your organisation.",
            diagnosis=f"providers.{name}.base_url {error}",
        ) from None
    return SearchSite(address, key) if address else None
