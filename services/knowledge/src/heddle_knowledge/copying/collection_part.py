"""The records of collections: names, owners, sharing, settings."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

import msgspec

from heddle_knowledge.copying.interface import Digests, Key, digest
from heddle_knowledge.copying.side import Side

_encode = msgspec.json.Encoder(enc_hook=dict, order="sorted").encode


class CollectionPart:
    """An item is the record of a collection, with an empty table for its passages."""

    name = "collections"

    async def digests(self, side: Side) -> Digests:
        """Return the records of one side."""
        return {(record.id,): digest(_encode(record)) for record in await side.records()}

    async def copy(self, keys: Sequence[Key], source: Side, target: Side) -> AsyncGenerator[int]:
        """Copy records."""
        records = await source.collections.registry.all()
        for done, (id_,) in enumerate(keys, start=1):
            if (record := records.get(id_)) is not None:
                if id_ in await target.collections.registry.all():
                    await target.collections.change(record)
                else:
                    await target.collections.add(record)
            yield done

    async def delete(self, keys: Sequence[Key], target: Side) -> None:
        """Delete collections, with all that they contain."""
        records = await target.collections.registry.all()
        for (id_,) in keys:
            await target.collections.remove(records[id_])
            await asyncio.to_thread(target.files.attachments.forget_all, id_)
