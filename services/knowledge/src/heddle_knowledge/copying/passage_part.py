"""The documents of collections: passages with their embeddings, metadata and times."""

import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from itertools import groupby

import msgspec
import numpy as np
import pyarrow as pa

from heddle_knowledge.collection_handle import CollectionHandle, optimize
from heddle_knowledge.copying.interface import Digests, Key
from heddle_knowledge.copying.side import Side
from heddle_knowledge.engines.conditions import In
from heddle_knowledge.engines.interface import VERSION_SECONDS
from heddle_knowledge.records import Collection
from heddle_knowledge.tables import layout, list_documents

_BATCH_ROWS = 2_000
"""Passages that are read and written at once, unless one document has more."""
_BATCH_DOCUMENTS = 500
_ANN_ROWS = 20_000
_VECTOR = "vector"
_encode = msgspec.msgpack.Encoder().encode


class PassagePart:
    """An item is a document of a collection: all of its passages."""

    name = "documents"

    async def digests(self, side: Side) -> Digests:
        """Return the documents of one side, with a digest of all that is stored of each."""
        digests: dict[Key, str] = {}
        for record in await side.embedded():
            handle = await side.collections.open(record)
            async for rows in _read(handle, _in_batches(handle)):
                for document, content in _digested(rows):
                    digests[record.id, document] = content
        return digests

    async def copy(self, keys: Sequence[Key], source: Side, target: Side) -> AsyncGenerator[int]:
        """Copy documents, several in one commit, and bring the indexes of the target up to date."""
        done = 0
        for collection, own in groupby(keys, key=lambda key: key[0]):
            names = [document for _, document in own]
            records = await source.collections.registry.all()
            reading = await source.collections.open(records[collection])
            writing = await target.collections.open(records[collection])
            async for batch in _counted(reading, names):
                async for rows in _read(reading, _once(batch)):
                    async with writing.writing():
                        await writing.table.replace(In("document", tuple(batch)), rows)
                done += len(batch)
                yield done
            await optimize(writing, _ANN_ROWS, VERSION_SECONDS)

    async def delete(self, keys: Sequence[Key], target: Side) -> None:
        """Delete documents."""
        records = await target.collections.registry.all()
        for collection, own in groupby(keys, key=lambda key: key[0]):
            if collection in records:  # otherwise they have gone with it
                handle = await target.collections.open(records[collection])
                async with handle.writing():
                    names = tuple(document for _, document in own)
                    await handle.table.delete(In("document", names))


def columns(record: Collection) -> list[str]:
    """Return the names of the columns of a collection's table."""
    return list(layout(record.dim).schema.names)


async def _in_batches(handle: CollectionHandle) -> AsyncIterator[list[str]]:
    """Yield the names of all documents in their order, as many as are read at once."""
    after = ""
    while documents := await list_documents(handle.table, after, _BATCH_DOCUMENTS):
        for batch in _batches([(each.name, each.chunks) for each in documents]):
            yield batch
        after = documents[-1].name


async def _counted(handle: CollectionHandle, names: Sequence[str]) -> AsyncIterator[list[str]]:
    """Yield the same documents in batches."""
    for start in range(0, len(names), _BATCH_DOCUMENTS):
        where = In("document", tuple(names[start : start + _BATCH_DOCUMENTS]))
        rows = await handle.table.rows(["document"], where, order_by=["document"])
        counts = rows.group_by("document", use_threads=False).aggregate([("document", "count")])
        pairs = zip(
            counts.column("document").to_pylist(),
            counts.column("document_count").to_pylist(),
            strict=True,
        )
        for batch in _batches(list(pairs)):
            yield batch


def _batches(counts: Sequence[tuple[str, int]]) -> Iterator[list[str]]:
    """Divide documents with so many passages each into batches."""
    batch: list[str] = []
    total = 0
    for name, count in counts:
        if batch and total + count > _BATCH_ROWS:
            yield batch
            batch, total = [], 0
        batch.append(name)
        total += count
    if batch:
        yield batch


async def _once(batch: list[str]) -> AsyncIterator[list[str]]:
    yield batch


async def _read(
    handle: CollectionHandle, batches: AsyncIterator[list[str]]
) -> AsyncIterator[pa.Table]:
    """Yield the rows of documents, in the order of documents and passages."""
    async for batch in batches:
        async with handle.using():
            yield await handle.table.rows(
                columns(handle.collection),
                In("document", tuple(batch)),
                order_by=["document", "ordinal"],
            )


def _digested(rows: pa.Table) -> Iterator[tuple[str, str]]:
    """Yield each document of some rows with the digest of its rows."""
    vectors = rows.column(_VECTOR).combine_chunks()
    flat = vectors.flatten().to_numpy(zero_copy_only=False).astype("<f4", copy=False)
    numbers = flat.reshape(len(rows), -1)
    others = rows.drop_columns([_VECTOR])
    for name, own in groupby(enumerate(others.to_pylist()), key=lambda row: row[1]["document"]):
        content = hashlib.sha256()
        for at, row in own:
            content.update(_encode([_comparable(value) for value in row.values()]))
            content.update(np.ascontiguousarray(numbers[at]).tobytes())
        yield name, content.hexdigest()


def _comparable(value: object) -> object:
    """Return a value as every engine stores it: PostgreSQL stores no NUL in texts."""
    if isinstance(value, str):
        return value.replace("\0", "\ufffd")
    return [_comparable(each) for each in value] if isinstance(value, list) else value
