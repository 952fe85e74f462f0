"""Which uploaded files are in which collection, with their states, and the batches of them."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

import msgspec

from heddle_knowledge.copying.interface import Digests, Key, digest
from heddle_knowledge.copying.side import Side

_AT_ONCE = 8
_encode = msgspec.json.Encoder(order="sorted").encode


class AttachmentPart:
    """An item is a file of a collection. The service of the target ingests unfinished ones."""

    name = "files of collections"

    async def digests(self, side: Side) -> Digests:
        """Return the files of the collections of one side."""
        digests: dict[Key, str] = {}
        for record in await side.records():
            for each in await asyncio.to_thread(side.files.attachments.of, record.id):
                digests[record.id, each.file_id] = digest(_encode(each))
        return digests

    async def copy(self, keys: Sequence[Key], source: Side, target: Side) -> AsyncGenerator[int]:
        """Copy files of collections."""
        for start in range(0, len(keys), _AT_ONCE):
            some = keys[start : start + _AT_ONCE]
            await asyncio.gather(*(_copy_attachment(key, source, target) for key in some))
            yield start + len(some)

    async def delete(self, keys: Sequence[Key], target: Side) -> None:
        """Take files out of collections."""
        attachments = target.files.attachments
        for collection, identifier in keys:
            async with attachments.locked(collection, identifier):
                await asyncio.to_thread(attachments.forget, collection, identifier)


class BatchPart:
    """An item is a batch of files that were attached together."""

    name = "batches of files"

    async def digests(self, side: Side) -> Digests:
        """Return the batches of the collections of one side."""
        digests: dict[Key, str] = {}
        for record in await side.records():
            for each in await asyncio.to_thread(side.files.attachments.batches, record.id):
                digests[record.id, each.id] = digest(_encode(each))
        return digests

    async def copy(self, keys: Sequence[Key], source: Side, target: Side) -> AsyncGenerator[int]:
        """Copy batches."""
        for done, (collection, identifier) in enumerate(keys, start=1):
            batch = await asyncio.to_thread(source.files.attachments.batch, collection, identifier)
            await asyncio.to_thread(target.files.attachments.prepare, collection)
            await asyncio.to_thread(target.files.attachments.keep_batch, batch)
            yield done

    async def delete(self, keys: Sequence[Key], target: Side) -> None:
        """Delete batches."""
        for collection, identifier in keys:
            await asyncio.to_thread(target.files.attachments.forget_batch, collection, identifier)


async def _copy_attachment(key: Key, source: Side, target: Side) -> None:
    collection, identifier = key
    attachment = await asyncio.to_thread(source.files.attachments.find, collection, identifier)
    if attachment is None:  # taken out meanwhile
        return
    attachments = target.files.attachments
    await asyncio.to_thread(attachments.prepare, collection)
    async with attachments.locked(collection, identifier):
        await asyncio.to_thread(attachments.keep, attachment)
