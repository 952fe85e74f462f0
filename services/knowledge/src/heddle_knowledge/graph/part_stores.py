"""The stores of a graph's parts: a file, or a table that all replicas share."""

import asyncio
from pathlib import Path
from typing import Protocol

from heddle_knowledge.files.sqlite_files import remove, vacuum
from heddle_knowledge.graph import parts
from heddle_knowledge.graph.records import DrawnPart, Part


class PartStore(Protocol):
    """The parts of one graph. It may raise `StorageError`, or the errors of a disk."""

    async def has(self, part: Part) -> bool:
        """Return whether a version of a document is in the graph."""

    async def add(self, drawn: DrawnPart) -> None:
        """Store what was found in a version of a document, in place of what was there before."""

    async def get(self, part: Part) -> DrawnPart | None:
        """Return the names of a version of a document; None if it is not in the graph."""

    async def all(self) -> list[Part]:
        """Return the versions of documents that are in the graph."""

    async def delete(self, part: Part) -> None:
        """Delete a version of a document."""

    async def settle(self, document: str, old: str, new: str) -> None:
        """Delete the version `old` of a document, and remains of crashes, but not `new`."""

    async def file(self) -> Path:
        """Return a file on this machine that has all parts as they are now."""

    async def purge(self) -> None:
        """Leave nothing of deleted versions in the file, or in the table."""

    async def forget_gone(self) -> None:
        """Remove a copy on this machine that has versions that were deleted elsewhere."""

    async def remove(self) -> None:
        """Remove what is on this machine; a table goes with its collection."""


class FileParts:
    """The parts in a file. See `PartStore`."""

    def __init__(self, file: Path) -> None:
        self._file = file

    async def has(self, part: Part) -> bool:
        """Return whether a version of a document is in the graph."""
        return await asyncio.to_thread(parts.has_part, self._file, part)

    async def add(self, drawn: DrawnPart) -> None:
        """Store what was found in a version of a document."""
        await asyncio.to_thread(parts.add_part, self._file, drawn)

    async def get(self, part: Part) -> DrawnPart | None:
        """Return what was found in a version of a document."""
        return await asyncio.to_thread(parts.get_part, self._file, part)

    async def all(self) -> list[Part]:
        """Return the versions of documents that are in the graph."""
        return await asyncio.to_thread(parts.all_parts, self._file)

    async def delete(self, part: Part) -> None:
        """Delete a version of a document."""
        await self.settle(part.document, part.sha256, "")

    async def settle(self, document: str, old: str, new: str) -> None:
        """Delete the version `old` of a document, and remains of crashes, but not `new`."""
        await asyncio.to_thread(parts.settle, self._file, document, old, new)

    async def file(self) -> Path:
        """Return the file, which need not exist yet."""
        return self._file

    async def purge(self) -> None:
        """Write the file anew without deleted versions."""
        await asyncio.to_thread(vacuum, self._file)

    async def forget_gone(self) -> None:
        """Do nothing: there is no copy."""

    async def remove(self) -> None:
        """Remove the file."""
        await asyncio.to_thread(remove, self._file)
