"""What a part of a copy offers: the rows of its items, and ways to write and delete items."""

import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterable, Mapping
from contextlib import aclosing
from typing import Any, Protocol

import msgspec

from heddle_knowledge.backup.items import Items, Key, Row, whole_items
from heddle_knowledge.copying.side import Side

Digests = Mapping[Key, str]
"""What each item contains, by key."""
_encode = msgspec.json.Encoder(order="sorted").encode


class Part(Protocol):
    """One kind of content of a store, with the rows that a backup has of it."""

    name: str
    """For people, in the plural."""
    at_once: int = 1
    """Rows that are written in one step, unless one item has more."""

    def rows(self, side: Side) -> AsyncGenerator[tuple[Key, Row]]:
        """Yield the rows of one side with the keys of their items, an item after the other."""

    async def put(self, items: Items, target: Side) -> None:
        """Write items in the place of those that the target has under their keys."""

    async def delete(self, keys: Iterable[Key], target: Side) -> None:
        """Delete items of the target."""

    async def finish(self, keys: Iterable[Key], target: Side) -> None:
        """Do what is due after items were written: nothing."""
        return

    async def digests(self, side: Side) -> Digests:
        """Return the items of one side. Two items are equal if their digests are."""
        totals: dict[Key, Any] = {}
        async with aclosing(self.rows(side)) as rows:
            async for key, row in rows:
                content = _encode({name: _comparable(value) for name, value in row.items()})
                totals.setdefault(key, hashlib.sha256()).update(content)
        return {key: total.hexdigest() for key, total in totals.items()}

    async def copy(self, keys: Collection[Key], source: Side, target: Side) -> AsyncGenerator[int]:
        """Copy items; yield how many are done from time to time.

        An item that the source does not have any more is skipped.
        """
        done = 0
        async with aclosing(self.rows(source)) as rows:
            async for items in whole_items(_chosen(rows, frozenset(keys)), self.at_once):
                await self.put(items, target)
                done += len(items)
                yield done
        await self.finish(keys, target)


async def _chosen(
    rows: AsyncIterator[tuple[Key, Row]], keys: Collection[Key]
) -> AsyncGenerator[tuple[Key, Row]]:
    async for key, row in rows:
        if key in keys:
            yield key, msgspec.to_builtins(row)  # as an archive has it


def _comparable(value: object) -> object:
    """Return a value as every engine stores it: PostgreSQL stores no NUL in texts."""
    if isinstance(value, str):
        return value.replace("\0", "\ufffd")
    return [_comparable(each) for each in value] if isinstance(value, list) else value
