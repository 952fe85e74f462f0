"""The graphs of collections: the names that were found in each version of each document."""

from collections.abc import AsyncGenerator, Sequence

import msgspec

from heddle_knowledge.copying.interface import Digests, Key, digest
from heddle_knowledge.copying.side import Side
from heddle_knowledge.graph.part_stores import PartStore
from heddle_knowledge.graph.records import DrawnPart, Part

_encode = msgspec.msgpack.Encoder().encode


class GraphPart:
    """An item is what was found in a version of a document."""

    name = "documents of graphs"

    async def digests(self, side: Side) -> Digests:
        """Return the documents of the graphs of one side."""
        digests: dict[Key, str] = {}
        for record in await side.embedded():
            if (parts := await _store(side, record.id)) is None:
                continue
            for part in await parts.all():
                if (drawn := await parts.get(part)) is not None:
                    digests[record.id, part.document, part.sha256] = _digest(drawn)
        return digests

    async def copy(self, keys: Sequence[Key], source: Side, target: Side) -> AsyncGenerator[int]:
        """Copy documents of graphs."""
        for done, (collection, *names) in enumerate(keys, start=1):
            reading = await _store(source, collection)
            writing = await _store(target, collection)
            if reading is not None and writing is not None:
                drawn = await reading.get(Part(*names))
                if drawn is not None:
                    await writing.add(drawn)
            yield done

    async def delete(self, keys: Sequence[Key], target: Side) -> None:
        """Delete documents from graphs."""
        for collection, *names in keys:
            if (parts := await _store(target, collection)) is not None:
                await parts.delete(Part(*names))


async def _store(side: Side, collection: str) -> PartStore | None:
    """Return the parts of a collection's graph, None if it has none or is gone."""
    record = (await side.collections.registry.all()).get(collection)
    graph = side.graphs.of(record) if record is not None else None
    return graph.parts if graph is not None else None


def _digest(drawn: DrawnPart) -> str:
    ordered = [
        msgspec.structs.replace(each, names=sorted(each.names, key=msgspec.structs.astuple))
        for each in sorted(drawn.passages, key=lambda each: each.ordinal)
    ]
    return digest(_encode((drawn.english, ordered)))
