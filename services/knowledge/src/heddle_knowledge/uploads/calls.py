"""What the calls about files have in common."""

import asyncio
import time
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from heddle_runtime.call_metadata import caller

from heddle_knowledge.access import Person, caller_of, changeable, meant
from heddle_knowledge.records import Collection
from heddle_knowledge.uploads.folder import person_key
from heddle_knowledge.uploads.ingestion_queue import IngestionQueue
from heddle_knowledge.uploads.records import Attachment, Attributes, Upload

if TYPE_CHECKING:  # loads the engine
    from collections.abc import Awaitable, Callable, Sequence

    from heddle_knowledge.store import KnowledgeStore

DEFAULT_PAGE = 100
MOST = 1_000
"""Entries that a page of a list may have."""


class Calls:
    """A part of the service."""

    def __init__(
        self, store: "Callable[[], Awaitable[KnowledgeStore]]", ingestion_queue: IngestionQueue
    ) -> None:
        self._store = store
        self._ingestion_queue = ingestion_queue
        self._uploads = ingestion_queue.uploads
        self._attachments = ingestion_queue.attachments
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def _collection(self, reference: str, *, changing: bool = False) -> Collection:
        known = (await (await self._store()).collections.all()).values()
        return (changeable if changing else meant)(known, _caller(), reference)

    def _naming(self, collection: Collection) -> asyncio.Lock:
        """Return what is held until files of a collection have names; those of others go on."""
        return self._locks.setdefault(collection.id, asyncio.Lock())

    async def _documents(self, collection: Collection, uploads: "Sequence[Upload]") -> list[str]:
        """Return names for the documents of files that no other document of the collection has.

        Files that are attached keep theirs. The lock for naming must be held.
        """
        attached = await asyncio.to_thread(self._attachments.of, collection.id)
        own = {each.file_id: each.document for each in attached}
        filenames = [each.filename for each in uploads if each.id not in own]
        documents = (await self._store()).documents
        taken = await documents.present(collection.id, filenames)
        taken.update(own.values())
        names = []
        for upload in uploads:
            name = own.get(upload.id) or upload.filename
            if upload.id not in own and name in taken:
                name = f"{upload.id}/{name}"
            taken.add(name)
            names.append(name)
        return names


def attachment_of(
    upload: Upload, collection: Collection, document: str, noted: Attributes, created_at: int
) -> Attachment:
    """Return a file of the caller's as it begins its way into a collection."""
    return Attachment(
        upload.id,
        collection.id,
        document,
        person(),
        upload.filename,
        upload.media_type,
        upload.size,
        noted,
        created_at,
    )


def person() -> str:
    """Return what stands for the caller on the disk."""
    return person_key(_caller())


def now() -> int:
    """Return microseconds since 1970."""
    return time.time_ns() // 1_000


def place(created_at: int, identifier: str) -> str:
    """Return a file's place in lists, as a text that sorts like it."""
    return f"{created_at:020}/{identifier}"


def _caller() -> Person:
    return caller_of(caller().identity)
