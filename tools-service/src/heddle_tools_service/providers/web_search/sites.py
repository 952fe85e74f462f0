"""Functions that search providers share: sending requests and reading responses."""

import html
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import httpx
from heddle_runtime.http.remote_json import reason_in

from heddle_tools_service.capabilities.web_search import WebAnswer, WebResult
from heddle_tools_service.providers.remote import fetch
from heddle_tools_service.sdk import ToolError

_MAX_SNIPPET_CHARS = 2_000
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")
_REFUSED_KEYS = {HTTPStatus.UNAUTHORIZED, HTTPStatus.PAYMENT_REQUIRED, HTTPStatus.FORBIDDEN}


@dataclass(frozen=True, slots=True)
class SearchSite:
    """The address of a search provider, and its key."""

    url: str
    """Without a slash at the end."""
    key: str = field(default="", repr=False)
    """The key, which is sent to this address only."""


SearchBy = Callable[[httpx.AsyncClient, SearchSite, str, int], Awaitable[WebAnswer]]
"""Searches with a client that follows no redirects, at a site, for a query, for so many results.

Raises ToolError or ToolUnavailableError; no message holds the key.
"""


async def ask(
    http: httpx.AsyncClient,
    site: SearchSite,
    who: str,
    method: str,
    path: str,
    **content: Any,  # noqa: ANN401 - parameters of httpx
) -> Mapping[str, Any]:
    """Send a request to a provider and return the object in its response.

    Args:
        http: Sends the request.
        site: The address and the key of the provider.
        who: The provider, as messages name it.
        method: The method of the request.
        path: The path after the address of the site.
        content: As of `httpx.AsyncClient.build_request`. Without headers, the key is the bearer
            token.

    Raises:
        ToolError: The provider refuses, or answers nonsense.
        ToolUnavailableError: It does not answer, is broken or busy.
    """
    if site.key:
        content.setdefault("headers", {"Authorization": f"Bearer {site.key}"})
    request = http.build_request(method, f"{site.url}{path}", **content)
    status, answer = await fetch(http, request, who)
    if status in _REFUSED_KEYS:
        raise ToolError(f"{who} refuses the key ({status}).", kind="key_refused")
    if status >= HTTPStatus.BAD_REQUEST:
        reason = reason_in(answer, site.key) or "no reason given"
        raise ToolError(f"{who} refuses the search ({status}): {reason}.", kind="refused")
    if not isinstance(answer, Mapping):
        raise ToolError(f"The answer of {who} cannot be read: it is no object.")
    return answer


def entries(answer: Mapping[str, Any], name: str, who: str) -> list[Mapping[str, Any]]:
    """Return the objects in a list; none if there is no list, as where nothing was found.

    Raises:
        ToolError: It is something else.
    """
    listed = answer.get(name) or []
    if not isinstance(listed, list):
        raise ToolError(f"The answer of {who} cannot be read: its {name} are no list.")
    return [each for each in listed if isinstance(each, Mapping)]


def results(
    listed: Iterable[Mapping[str, Any]], max_results: int, *, snippet: str, published: str
) -> tuple[WebResult, ...]:
    """Return the results with a web address, each address once, at most `max_results`."""
    answer: dict[str, WebResult] = {}
    for each in listed:
        url = text(each.get("url"))
        if is_link(url) and url not in answer:
            title = plain(each.get("title")) or url
            answer[url] = WebResult(title, url, plain(each.get(snippet)), text(each.get(published)))
    return tuple(answer.values())[:max_results]


def links(values: object) -> Iterator[str]:
    """Yield the addresses in a list that people can open."""
    if isinstance(values, list):
        yield from (value for value in map(text, values) if is_link(value))


def is_link(url: str) -> bool:
    """Return whether a text is an http or https address, so no `javascript:` or `data:`."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)


def text(value: object) -> str:
    """Return `value` if it is a text, otherwise an empty text."""
    return value if isinstance(value, str) else ""


def plain(value: object) -> str:
    """Return a text without the tags that mark words in it, on one line."""
    bare = html.unescape(_TAG.sub("", text(value)[:_MAX_SNIPPET_CHARS]))
    return " ".join(bare.split())
