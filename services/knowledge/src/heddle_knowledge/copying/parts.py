"""The parts of a copy: what a backup has of each kind of content, item by item."""

from collections.abc import AsyncGenerator, Iterable
from contextlib import suppress
from itertools import groupby
from operator import itemgetter

from heddle_knowledge.backup import graph_rows, page_rows
from heddle_knowledge.backup.collection_rows import record
from heddle_knowledge.backup.items import Items, Key, Row, joined, stream
from heddle_knowledge.collection_handle import optimize
from heddle_knowledge.collection_registry import decoded
from heddle_knowledge.copying.interface import Part
from heddle_knowledge.copying.side import Side
from heddle_knowledge.engines.conditions import In
from heddle_knowledge.engines.interface import VERSION_SECONDS
from heddle_knowledge.errors import CollectionNotFoundError
from heddle_knowledge.graph.records import Part as Version
from heddle_knowledge.uploads.records import BATCH

_ANN_ROWS = 20_000
_collection = itemgetter(0)


class CollectionPart(Part):
    """An item is the record of a collection, with an empty table for its passages."""

    name = "collections"

    async def rows(self, side: Side) -> AsyncGenerator[tuple[Key, Row]]:
        """Yield the records of one side."""
        for collection in await side.records():
            yield (collection.id,), record(collection)

    async def put(self, items: Items, target: Side) -> None:
        """Write records."""
        for row in joined(items.values()):
            collection = decoded(row["record"])
            if collection.id in await target.collections.registry.all():
                await target.collections.change(collection)
            else:
                await target.collections.add(collection)

    async def delete(self, keys: Iterable[Key], target: Side) -> None:
        """Delete collections with their passages and graphs."""
        records = await target.collections.registry.all()
        for (id_,) in keys:
            await target.collections.remove(records[id_])


class PassagePart(Part):
    """An item is a document of a collection: all of its passages."""

    name = "documents"
    at_once: int = 2_000

    async def rows(self, side: Side) -> AsyncGenerator[tuple[Key, Row]]:
        """Yield the passages of one side."""
        for collection in await side.embedded():
            with suppress(CollectionNotFoundError):  # deleted meanwhile
                async for row in side.passages.passages(collection):
                    yield (collection.id, row["document"]), row

    async def put(self, items: Items, target: Side) -> None:
        """Write documents, those of a collection in one commit."""
        for collection, own in groupby(items, key=_collection):
            await target.passages.put(collection, joined(items[key] for key in own))

    async def delete(self, keys: Iterable[Key], target: Side) -> None:
        """Delete documents."""
        records = await target.collections.registry.all()
        for collection, own in groupby(keys, key=_collection):
            if collection in records:  # otherwise they have gone with it
                handle = await target.collections.open(records[collection])
                async with handle.writing():
                    names = tuple(document for _, document in own)
                    await handle.table.delete(In("document", names))

    async def finish(self, keys: Iterable[Key], target: Side) -> None:
        """Bring the indexes of the target up to date."""
        records = await target.collections.registry.all()
        for collection in {collection for collection, _ in keys}:
            handle = await target.collections.open(records[collection])
            await optimize(handle, _ANN_ROWS, VERSION_SECONDS)


class GraphPart(Part):
    """An item is what was read from a version of a document."""

    name = "documents of graphs"

    async def rows(self, side: Side) -> AsyncGenerator[tuple[Key, Row]]:
        """Yield the documents of the graphs of one side."""
        async for row in graph_rows.rows(side.graphs, await side.embedded()):
            yield (row["collection"], *row["drawn"]["part"]), row

    async def put(self, items: Items, target: Side) -> None:
        """Write documents of graphs."""
        await graph_rows.add(target.graphs, await target.embedded(), stream(items))

    async def delete(self, keys: Iterable[Key], target: Side) -> None:
        """Delete documents from graphs."""
        records = await target.collections.registry.all()
        for collection, *names in keys:
            graph = target.graphs.of(records[collection]) if collection in records else None
            if graph is not None:
                await graph.parts.delete(Version(*names))


class PagePart(Part):
    """An item is a document that has pages: all of them."""

    name = "documents with pages"

    async def rows(self, side: Side) -> AsyncGenerator[tuple[Key, Row]]:
        """Yield the pages of one side."""
        known = {collection.id for collection in await side.embedded()}
        async for row in page_rows.rows(side.pages):
            if row["collection"] in known:
                yield (row["collection"], row["sha256"]), row

    async def put(self, items: Items, target: Side) -> None:
        """Write documents with pages. One that is interrupted is not whole, and copied again."""
        for key, rows in items.items():
            collection, sha256 = key
            async with target.pages.holding(collection, sha256):
                await page_rows.remove(target.pages, collection, sha256)
                await page_rows.add(target.pages, stream({key: rows}))

    async def delete(self, keys: Iterable[Key], target: Side) -> None:
        """Delete the pages of documents."""
        for collection, sha256 in keys:
            async with target.pages.holding(collection, sha256):
                await page_rows.remove(target.pages, collection, sha256)


class UploadPart(Part):
    """An item is an uploaded file: who owns it, what it is called, its bytes."""

    name = "uploaded files"

    async def rows(self, side: Side) -> AsyncGenerator[tuple[Key, Row]]:
        """Yield the files of one side."""
        async for row in side.files.uploads():
            yield (row["person"], row["id"]), row

    async def put(self, items: Items, target: Side) -> None:
        """Write files."""
        await target.files.add_uploads(stream(items))

    async def delete(self, keys: Iterable[Key], target: Side) -> None:
        """Delete files."""
        await target.files.remove_uploads(keys)


class AttachedPart(Part):
    """An item is a file of a collection, or a batch of files that were attached together."""

    at_once: int = 100

    def __init__(self, name: str, *, batches: bool) -> None:
        self.name = name
        self._batches = batches

    async def rows(self, side: Side) -> AsyncGenerator[tuple[Key, Row]]:
        """Yield the files or the batches of one side."""
        known = {collection.id for collection in await side.records()}
        async for row in side.files.attached():
            if row["collection"] in known and row["id"].startswith(BATCH) == self._batches:
                yield (row["collection"], row["id"]), row

    async def put(self, items: Items, target: Side) -> None:
        """Write files or batches. The service of the target ingests unfinished files."""
        await target.files.add_attached(stream(items))

    async def delete(self, keys: Iterable[Key], target: Side) -> None:
        """Delete files or batches."""
        await target.files.remove_attached(keys)
