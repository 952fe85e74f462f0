"""Perplexity, which answers in words and names the pages it read."""

import httpx

from heddle_tools_service.capabilities.web_search import WebAnswer, WebResult
from heddle_tools_service.providers.web_search.sites import (
    SearchSite,
    ask,
    entries,
    links,
    results,
    text,
)
from heddle_tools_service.sdk import ToolError

WHO = "Perplexity"
URL = "https://api.perplexity.ai"
_MODEL = "sonar"


async def search(
    http: httpx.AsyncClient, site: SearchSite, query: str, max_results: int
) -> WebAnswer:
    """Search as `SearchBy` says."""
    request = http.build_request(
        "POST",
        f"{site.url}/chat/completions",
        headers={"Authorization": f"Bearer {site.key}"},
        json={"model": _MODEL, "messages": [{"role": "user", "content": query}]},
    )
    response = await ask(http, site, request, WHO)
    answer = ""
    for choice in entries(response, "choices", WHO):
        message = choice.get("message")
        answer = answer or text(message.get("content") if isinstance(message, dict) else None)
    listed = results(
        entries(response, "search_results", WHO), max_results, snippet="snippet", published="date"
    )
    citations = tuple(links(response.get("citations")))
    if not answer and not listed and not citations:
        raise ToolError(f"The answer of {WHO} cannot be read: it has neither words nor results.")
    # Some models tell addresses alone.
    listed = listed or tuple(WebResult(url, url) for url in citations)[:max_results]
    return WebAnswer("perplexity", answer, listed, citations)
