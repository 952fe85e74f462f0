"""Brave Search, an index of its own."""

import httpx

from heddle_tools_service.capabilities.web_search import WebAnswer
from heddle_tools_service.providers.web_search.sites import SearchSite, ask, entries, results
from heddle_tools_service.sdk import ToolError

WHO = "Brave Search"
URL = "https://api.search.brave.com/res/v1"
_MAX_QUERY_CHARS = 400
_MAX_WORDS = 50
_MAX_RESULTS = 20


async def search(
    http: httpx.AsyncClient, site: SearchSite, query: str, max_results: int
) -> WebAnswer:
    """Search as `SearchBy` says. Brave takes 400 characters and 50 words of a query."""
    words = " ".join(query.split()[:_MAX_WORDS])[:_MAX_QUERY_CHARS]
    request = http.build_request(
        "GET",
        f"{site.url}/web/search",
        params={"q": words, "count": min(max_results, _MAX_RESULTS)},
        headers={"X-Subscription-Token": site.key, "Accept": "application/json"},
    )
    answer = await ask(http, site, request, WHO)
    web = answer.get("web") or {}
    if not isinstance(web, dict):
        raise ToolError(f"The answer of {WHO} cannot be read: its web is no object.")
    listed = results(
        entries(web, "results", WHO), max_results, snippet="description", published="page_age"
    )
    return WebAnswer("brave", "", listed, tuple(result.url for result in listed))
