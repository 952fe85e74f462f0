"""What a part of a copy offers: items with digests, and ways to copy and delete some of them."""

import hashlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Protocol

from heddle_knowledge.copying.side import Side

Key = tuple[str, ...]
"""Names an item of a part on both sides."""
Digests = Mapping[Key, str]
"""What each item contains, by key."""


class Part(Protocol):
    """One kind of content of a store."""

    name: str
    """For people, in the plural."""

    async def digests(self, side: Side) -> Digests:
        """Return the items of one side. Two items are equal if their digests are."""

    def copy(self, keys: Sequence[Key], source: Side, target: Side) -> AsyncGenerator[int]:
        """Copy items, each in one step; yield how many are done from time to time.

        What the target has under these keys is replaced. An item that the source does not have
        any more is skipped.
        """

    async def delete(self, keys: Sequence[Key], target: Side) -> None:
        """Delete items of the target."""


def digest(*contents: bytes) -> str:
    """Return the digest of an item that consists of some byte strings."""
    total = hashlib.sha256()
    for content in contents:
        total.update(len(content).to_bytes(8, "big"))
        total.update(content)
    return total.hexdigest()
