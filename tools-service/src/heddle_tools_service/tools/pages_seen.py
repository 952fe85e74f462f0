"""Lists the pages that earlier tools of a run have found."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from heddle_tools_service.sdk import EarlierResult, Environment

PAGE_KIND = "page"
"""The kind that distinguishes pages from passages among the agent's objects."""
FINDERS = ("colqwen_search", "hybrid_search")
_LISTS = ("objects", "visual_results")
_URI = re.compile(r"/v1/vector_stores/\w+/files/\w+/pages/\d+")


@dataclass(frozen=True, slots=True)
class SeenPage:
    """A page that was found."""

    picture_uri: str
    score: float


def pages_seen(earlier: Iterable[EarlierResult]) -> list[SeenPage]:
    """Return the pages that were found, the best first; with none there is nothing to look at."""
    pages = [page for each in earlier if each.tool in FINDERS for page in _pages(each.text)]
    return sorted(pages, key=lambda page: -page.score)


def pages_in(environment: Environment) -> list[SeenPage]:
    """Return the pages that the tools of the routing agent have found, the best first."""
    objects = (each for finder in FINDERS for each in environment.find(finder))
    pages = (each for each in objects if each.get("kind") == PAGE_KIND)
    return sorted((seen for each in pages for seen in _page(each)), key=lambda page: -page.score)


def _pages(text: str) -> Iterator[SeenPage]:
    """Read the pages from a result for a model or for a slot. A slot has the best first."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, Mapping):
        for place, uri in enumerate(_URI.findall(text)):
            yield SeenPage(uri, -float(place))
        return
    for name in _LISTS:
        listed = content.get(name)
        for each in listed if isinstance(listed, list) else ():
            yield from _page(each)


def _page(item: Any) -> Iterator[SeenPage]:  # noqa: ANN401 - any JSON value
    if not isinstance(item, Mapping):
        return
    uri, score = item.get("preview_url"), item.get("score")
    if isinstance(uri, str) and uri:
        yield SeenPage(uri, float(score) if isinstance(score, int | float) else 0.0)
