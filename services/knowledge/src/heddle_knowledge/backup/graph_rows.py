"""Graphs of names."""

from collections.abc import AsyncIterable, AsyncIterator, Sequence
from operator import attrgetter
from typing import Any

import msgspec

from heddle_knowledge.backup.rows import Row
from heddle_knowledge.collection.types import Collection
from heddle_knowledge.graph.graphs import Graphs
from heddle_knowledge.graph.records import DrawnPart


async def rows(graphs: Graphs, collections: Sequence[Collection]) -> AsyncIterator[dict[str, Any]]:
    """Yield what was incoming in each version of each document of collections."""
    for collection in collections:
        if (graph := graphs.of(collection)) is None:
            continue
        for part in sorted(await graph.parts.all(), key=attrgetter("document", "sha256")):
            drawn = await graph.parts.get(part)
            if drawn is not None:  # else deleted meanwhile
                yield {"collection": collection.id, "drawn": msgspec.to_builtins(_ordered(drawn))}


async def add(
    graphs: Graphs, collections: Sequence[Collection], incoming: AsyncIterable[Row]
) -> None:
    """Add graphs as `rows` yields them."""
    by_id = {collection.id: collection for collection in collections}
    async for row in incoming:
        if (graph := graphs.of(by_id[row["collection"]])) is not None:
            await graph.parts.add(msgspec.convert(row["drawn"], DrawnPart))


def _ordered(drawn: DrawnPart) -> DrawnPart:
    passages = [
        msgspec.structs.replace(each, names=sorted(each.names, key=msgspec.structs.astuple))
        for each in sorted(drawn.passages, key=attrgetter("ordinal"))
    ]
    return msgspec.structs.replace(drawn, passages=passages)
