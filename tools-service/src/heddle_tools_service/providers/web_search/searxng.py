"""SearXNG, a search engine that one runs oneself and that asks others."""

from collections.abc import Mapping
from typing import Any

import httpx

from heddle_tools_service.capabilities.web_search import WebAnswer
from heddle_tools_service.providers.web_search.sites import (
    SearchSite,
    ask,
    entries,
    plain,
    results,
)

WHO = "SearXNG"


async def search(
    http: httpx.AsyncClient, site: SearchSite, query: str, max_results: int
) -> WebAnswer:
    """Search as `SearchBy` says. It needs no key; if one is set, a proxy in front may want it."""
    request = http.build_request(
        "GET",
        f"{site.url}/search",
        params={"q": query, "format": "json"},
        headers={"Authorization": f"Bearer {site.key}"} if site.key else {},
    )
    answer = await ask(http, site, request, WHO)
    listed = results(
        entries(answer, "results", WHO), max_results, snippet="content", published="publishedDate"
    )
    return WebAnswer("searxng", _answer(answer), listed, tuple(result.url for result in listed))


def _answer(answer: Mapping[str, Any]) -> str:
    """Return the first instant answer: a text, or in newer versions an object with one."""
    answers = answer.get("answers")
    first = answers[0] if isinstance(answers, list) and answers else ""
    return plain(first.get("answer") if isinstance(first, dict) else first)
