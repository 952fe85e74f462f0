"""The `event` objects that Open WebUI shows.

Open WebUI passes every `event` of a chunk to the browser, where some kinds run code. This is the
only module that builds them, of two harmless kinds, from typed messages: no text of a tool or a
model becomes a key.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from heddle.tool.v1.tool_pb2 import Source

WEB = ("https://", "http://")


def status(action: str, description: str, *, done: bool, hidden: bool = False) -> bytes:
    """Return the event of one line of progress.

    `done` ends the line's animation. `hidden` removes the line.
    """
    data: dict[str, Any] = {"action": action, "description": description, "done": done}
    if hidden:
        data["hidden"] = True
    return msgspec.json.encode({"type": "status", "data": data})


def source(origin: str, name: str, sources: Sequence[Source]) -> bytes:
    """Return the event of the sources of one tool."""
    return msgspec.json.encode({"type": "source", "data": group(origin, name, sources)})


def group(origin: str, name: str, sources: Sequence[Source]) -> dict[str, Any]:
    """Return sources as Open WebUI stores them: parallel lists with an entry per passage."""
    group: dict[str, Any] = {
        "source": {"id": origin, "name": name},
        "document": [item.excerpt or item.title for item in sources],
        "metadata": [_metadata(item) for item in sources],
    }
    if all(item.HasField("score") for item in sources):
        group["distances"] = [item.score for item in sources]
    return group


def _metadata(item: Source) -> dict[str, Any]:
    # A tool chooses the names of attributes, and Open WebUI acts on some (it renders `html`), so
    # only the page is passed on.
    metadata: dict[str, Any] = {"source": item.uri or item.title, "name": item.title or item.uri}
    if item.uri.startswith(WEB):
        metadata["external"] = True  # otherwise Open WebUI shows the address in place of the title
    page = item.attributes.get("page", "")
    if page.isdecimal() and int(page) > 0:
        metadata["page"] = int(page) - 1  # Open WebUI counts from 0 and shows from 1
    return metadata
