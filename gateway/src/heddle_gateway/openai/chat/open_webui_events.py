"""The `event` objects that Open WebUI shows, and nothing else that it would do.

Open WebUI hands every `event` of a chunk to the browser, where some kinds run code. So this is
the only module that builds them, of two harmless kinds, member by member from typed messages:
nothing that a tool or a model wrote can become a key.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from heddle.tool.v1.tool_pb2 import Source

_WEB = ("https://", "http://")


def status(action: str, description: str, *, done: bool, hidden: bool = False) -> bytes:
    """Return the event of one line of progress.

    `done` stops the line's shimmer. `hidden` takes the line away.
    """
    data: dict[str, Any] = {"action": action, "description": description, "done": done}
    if hidden:
        data["hidden"] = True
    return msgspec.json.encode({"type": "status", "data": data})


def source(origin: str, name: str, sources: Sequence[Source]) -> bytes:
    """Return the event of what one tool found, as one group."""
    return msgspec.json.encode({"type": "source", "data": group(origin, name, sources)})


def group(origin: str, name: str, sources: Sequence[Source]) -> dict[str, Any]:
    """Return sources as Open WebUI keeps them: parallel lists, one place for each passage."""
    found: dict[str, Any] = {
        "source": {"id": origin, "name": name},
        "document": [item.excerpt or item.title for item in sources],
        "metadata": [_metadata(item) for item in sources],
    }
    if all(item.HasField("score") for item in sources):
        found["distances"] = [item.score for item in sources]
    return found


def annotations(sources: Sequence[Source]) -> list[dict[str, Any]]:
    """Return OpenAI's citations of the sources that have a web address, each address once.

    Where in the text they are cited is not known, so the range is empty.
    """
    titles: dict[str, str] = {}
    for item in sources:
        if item.uri.startswith(_WEB):
            titles.setdefault(item.uri, item.title or item.uri)
    return [
        {
            "type": "url_citation",
            "url_citation": {"url": url, "title": title, "start_index": 0, "end_index": 0},
        }
        for url, title in titles.items()
    ]


def _metadata(item: Source) -> dict[str, Any]:
    # Attributes are a tool's own words and some names mean something to Open WebUI (`html` is
    # rendered), so they are not passed on as they are.
    found: dict[str, Any] = {"source": item.uri or item.title, "name": item.title or item.uri}
    page = item.attributes.get("page", "")
    if page.isdecimal() and int(page) > 0:
        found["page"] = int(page) - 1  # Open WebUI counts from 0 and shows from 1
    return found
