"""Tavily, which finds passages of pages and can sum them up."""

import httpx

from heddle_tools_service.capabilities.web_search import WebAnswer
from heddle_tools_service.providers.web_search.sites import SearchSite, ask, entries, results, text

WHO = "Tavily"
URL = "https://api.tavily.com"


async def search(
    http: httpx.AsyncClient, site: SearchSite, query: str, max_results: int
) -> WebAnswer:
    """Search as `SearchBy` says."""
    request = http.build_request(
        "POST",
        f"{site.url}/search",
        headers={"Authorization": f"Bearer {site.key}"},
        json={"query": query, "max_results": max_results, "include_answer": True},
    )
    answer = await ask(http, site, request, WHO)
    listed = results(
        entries(answer, "results", WHO), max_results, snippet="content", published="published_date"
    )
    return WebAnswer("tavily", text(answer.get("answer")), listed, tuple(r.url for r in listed))
