"""What the knowledge service stores of people: collections and uploaded files."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from google.protobuf.json_format import MessageToDict
from heddle.person.v1 import person_pb2 as pb
from heddle_runtime.errors import NotFoundError
from heddle_runtime.people import Erasure, Person, json_file, place

from heddle_knowledge import access, sqlite_files
from heddle_knowledge.audit import AuditOutbox
from heddle_knowledge.records import EMBEDDED, Collection
from heddle_knowledge.uploads.folder import person_key
from heddle_knowledge.uploads.ingestion_queue import IngestionQueue
from heddle_knowledge.uploads.records import Attachment

if TYPE_CHECKING:  # loads the engine
    from heddle_knowledge.store import KnowledgeStore

_PRIVATE, _SHARED, _FILES, _ATTACHED = (
    "private_collections",
    "shared_collections",
    "uploads",
    "files_in_collections_of_others",
)
_PASSAGES = 100


@dataclass(slots=True)
class _Stored:
    """What is stored of a person."""

    key: str
    private: list[Collection]
    shared: list[Collection]
    uploads: list[Any]
    attached: list[Attachment]

    def places(self) -> list[pb.Place]:
        deleted = pb.TREATMENT_DELETED
        return [
            place(_PRIVATE, len(self.private), deleted),
            place(_SHARED, len(self.shared), pb.TREATMENT_CHOSEN),
            place(_FILES, len(self.uploads), deleted),
            place(_ATTACHED, len(self.attached), deleted),
        ]


@dataclass(frozen=True, slots=True)
class KnowledgeData:
    """Lists, exports and erases them. Implements `PersonalData`."""

    store: "Callable[[], Awaitable[KnowledgeStore]]"
    queue: IngestionQueue
    audit: AuditOutbox
    folder: Path
    """Of the service's files."""

    async def places(self, person: Person) -> Sequence[pb.Place]:
        """Return how much there is."""
        return (await self._stored(person)).places()

    async def files(self, person: Person) -> AsyncGenerator[tuple[str, bytes]]:
        """Yield the records and texts of collections, and uploaded files as they came."""
        stored = await self._stored(person)
        store = await self.store()
        for collection in (*stored.private, *stored.shared):
            folder = f"collections/{collection.public_id}"
            yield f"{folder}/collection.json", msgspec.json.encode(collection, enc_hook=dict)
            if collection.backend != EMBEDDED:
                continue
            for number, document in enumerate(await store.documents.all(collection.id), 1):
                first, texts = 0, []
                while page := await store.passages.listed(
                    collection.id, document, first, _PASSAGES
                ):
                    texts += [each.text for each in page]
                    first = page[-1].ordinal + 1
                record = {
                    "name": document.name,
                    "title": document.title,
                    "metadata": dict(document.metadata),
                    "passages": texts,
                }
                for _, data in json_file("", [record]):
                    yield f"{folder}/documents/{number}.json", data
        for upload in stored.uploads:
            content = await asyncio.to_thread(self.queue.uploads.content, stored.key, upload.id)
            yield f"uploads/{upload.id}/{upload.filename}", content
        records = [MessageToDict(each) for each in stored.uploads]
        for file in json_file("uploads", records):
            yield file
        attached = [msgspec.to_builtins(each) for each in stored.attached]
        for file in json_file(_ATTACHED, attached):
            yield file

    async def erase(self, erasure: Erasure) -> Sequence[pb.Place]:
        """Erase them, with all that is left in files of earlier versions."""
        if erasure.access_only:
            return []
        stored = await self._stored(erasure.person)
        store = await self.store()
        for attachment in stored.attached:
            await self.queue.detach(attachment)
        handed_over = stored.shared if erasure.new_owner else []
        for collection in handed_over:
            await self._hand_over_files(stored.key, collection, erasure.new_owner)
            await store.collections.change(replace(collection, owner=erasure.new_owner))
        for collection in (*stored.private, *([] if erasure.new_owner else stored.shared)):
            await store.collections.delete(collection.id)
            await self.queue.forget_all(collection.id)
        for upload in stored.uploads:
            await asyncio.to_thread(self.queue.uploads.delete, stored.key, upload.id)
        changed = {each.collection for each in stored.attached}
        for identifier in changed:
            await store.tidy(identifier)
        await store.collections.purge(changed)
        await asyncio.to_thread(self._vacuum, changed)
        await self.audit.sent()
        return stored.places()

    async def _hand_over_files(self, key: str, collection: Collection, new_owner: str) -> None:
        """Give the files of a collection to its new owner, so that they can be read again."""
        new_key = person_key(access.Person(new_owner, collection.organization))
        uploads, attachments = self.queue.uploads, self.queue.attachments

        def move(file: Attachment) -> None:
            with suppress(NotFoundError):  # the person deleted the file, and its passages stay
                upload = uploads.get(key, file.file_id)
                data = uploads.content(key, file.file_id)
                if uploads.repeated(new_key, file.file_id, data) is None:
                    uploads.keep(new_key, upload, data)
            attachments.keep(msgspec.structs.replace(file, person=new_key))

        for file in await asyncio.to_thread(attachments.of, collection.id):
            if file.person == key:
                async with attachments.locked(collection.id, file.file_id):
                    await asyncio.to_thread(move, file)

    async def _stored(self, person: Person) -> _Stored:
        key = person_key(access.Person(person.email, person.organization))
        known = (await (await self.store()).collections.all()).values()
        mine = [
            it for it in known if (it.owner, it.organization) == (person.email, person.organization)
        ]
        own = {it.id for it in mine}
        others = [it.id for it in known if it.id not in own]
        uploads = await asyncio.to_thread(self.queue.uploads.all, key)
        attached = await asyncio.to_thread(self._attached, key, others)
        private = [it for it in mine if it.sharing == "private"]
        return _Stored(key, private, [it for it in mine if it not in private], uploads, attached)

    def _attached(self, key: str, collections: Sequence[str]) -> list[Attachment]:
        of = self.queue.attachments.of
        return [file for each in collections for file in of(each) if file.person == key]

    def _vacuum(self, collections: set[str]) -> None:
        """Write the databases of collections anew, such as those of pages and of names."""
        for identifier in collections:
            for path in self.folder.rglob(f"*{identifier}*"):
                if path.is_file() and sqlite_files.is_database(path):
                    sqlite_files.vacuum(path)
