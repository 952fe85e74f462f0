"""Uploaded files with their bytes: the originals of documents."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress

from heddle_runtime.errors import NotFoundError

from heddle_knowledge.copying.interface import Digests, Key, digest
from heddle_knowledge.copying.side import Side
from heddle_knowledge.uploads.stores import UploadStore


class UploadPart:
    """An item is an uploaded file: who owns it, what it is called, its bytes."""

    name = "uploaded files"

    async def digests(self, side: Side) -> Digests:
        """Return the files of one side."""
        uploads = side.files.uploads
        digests: dict[Key, str] = {}
        for person, identifier in await asyncio.to_thread(uploads.keys):
            content = await asyncio.to_thread(_digest, uploads, person, identifier)
            if content:
                digests[person, identifier] = content
        return digests

    async def copy(self, keys: Sequence[Key], source: Side, target: Side) -> AsyncGenerator[int]:
        """Copy files."""
        for done, (person, identifier) in enumerate(keys, start=1):
            await asyncio.to_thread(
                _copy, source.files.uploads, target.files.uploads, person, identifier
            )
            yield done

    async def delete(self, keys: Sequence[Key], target: Side) -> None:
        """Delete files."""
        for person, identifier in keys:
            await asyncio.to_thread(target.files.uploads.delete, person, identifier)


def _digest(uploads: UploadStore, person: str, identifier: str) -> str:
    """Return the digest of a file; empty if it was deleted meanwhile."""
    try:
        record = uploads.get(person, identifier)
        return digest(
            record.SerializeToString(deterministic=True), uploads.content(person, identifier)
        )
    except NotFoundError:
        return ""


def _copy(source: UploadStore, target: UploadStore, person: str, identifier: str) -> None:
    try:
        record, data = source.get(person, identifier), source.content(person, identifier)
    except NotFoundError:
        return
    with suppress(NotFoundError):  # usually it is new
        target.delete(person, identifier)
    target.keep(person, record, data)
