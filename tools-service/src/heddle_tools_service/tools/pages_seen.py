"""Lists the pages that earlier tools of a run have found."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from heddle_tools_service.sdk import EarlierResult, Environment

PAGE_KIND = "page"
"""The kind that distinguishes pages from passages among the agent's objects."""
FINDERS = ("colqwen_search", "hybrid_search")
_URI = re.compile(r"/v1/vector_stores/\w+/files/\w+/pages/\d+")


@dataclass(frozen=True, slots=True)
class SeenPage:
    """A page that was found."""

    picture_uri: str
    score: float


def pages_seen(earlier: Iterable[EarlierResult]) -> list[SeenPage]:
    """Return the pages whose addresses stand in the slots of searches, the best of each first."""
    slots = (each.text for each in earlier if each.tool in FINDERS)
    return [SeenPage(uri, 0.0) for text in slots for uri in _URI.findall(text)]


def pages_in(environment: Environment) -> list[SeenPage]:
    """Return the pages that the tools of the routing agent have found, the best first."""
    objects = (each for finder in FINDERS for each in environment.find(finder))
    pages = (each for each in objects if each.get("kind") == PAGE_KIND)
    return sorted((seen for each in pages for seen in _page(each)), key=lambda page: -page.score)


def _page(item: Any) -> Iterator[SeenPage]:  # noqa: ANN401 - any JSON value
    if not isinstance(item, Mapping):
        return
    uri, score = item.get("preview_url"), item.get("score")
    if isinstance(uri, str) and uri:
        yield SeenPage(uri, float(score) if isinstance(score, int | float) else 0.0)
