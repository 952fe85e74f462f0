"""Rows that belong together: the passages of a document, the pages of another."""

from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Mapping
from typing import Any

Key = tuple[str, ...]
"""Names an item among those of its kind."""
Row = Mapping[str, Any]
Items = Mapping[Key, list[Row]]
"""The rows of items."""


async def whole_items(rows: AsyncIterable[tuple[Key, Row]], most: int) -> AsyncGenerator[Items]:
    """Yield items whose rows come one after the other, as long as they have so many rows."""
    items: dict[Key, list[Row]] = {}
    count = 0
    async for key, row in rows:
        if count >= most and key not in items:
            yield items
            items, count = {}, 0
        items.setdefault(key, []).append(row)
        count += 1
    if items:
        yield items


async def stream(items: Items) -> AsyncGenerator[Row]:
    """Yield the rows of items."""
    for row in joined(items.values()):
        yield row


def joined(lists: Iterable[list[Row]]) -> list[Row]:
    """Return the rows of some lists."""
    return [row for rows in lists for row in rows]
