"""The personal data of the knowledge service: collections and uploaded files."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import msgspec
from google.protobuf.json_format import MessageToDict
from heddle.person.v1 import person_pb2 as pb
from heddle_runtime.errors import NotFoundError
from heddle_runtime.identity.people import Erasure, Person, json_file, place

from heddle_knowledge.audit.recording import AuditOutbox
from heddle_knowledge.collection import access
from heddle_knowledge.collection.types import EMBEDDED, Collection
from heddle_knowledge.uploads.deletions import FileDeletions
from heddle_knowledge.uploads.ingestion_queue import IngestionQueue
from heddle_knowledge.uploads.records import Attachment
from heddle_knowledge.uploads.store import person_key

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
    """The data of a person or, without an address, of an organisation."""

    key: str
    private: list[Collection]
    shared: list[Collection]
    uploads: list[tuple[str, Any]]
    """With the keys of their owners."""
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

    async def places(self, person: Person) -> Sequence[pb.Place]:
        """Return the places with the person's data, each with a count."""
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
        for key, upload in stored.uploads:
            content = await self.queue.uploads.content(key, upload.id)
            yield f"uploads/{upload.id}/{upload.filename}", content
        records = [MessageToDict(each) for _, each in stored.uploads]
        for file in json_file("uploads", records):
            yield file
        attached = [msgspec.to_builtins(each) for each in stored.attached]
        for file in json_file(_ATTACHED, attached):
            yield file

    async def erase(self, erasure: Erasure) -> Sequence[pb.Place]:
        """Erase them, with all that is left in files of earlier versions."""
        if erasure.access_only:
            return []
        await self.queue.complete_detachments()
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
        deletions = FileDeletions(self.store, self.queue)
        for key, upload in stored.uploads:
            with suppress(NotFoundError):  # the person has just deleted it
                await deletions.delete(key, upload.id)
        await store.purge()
        await self.audit.sent()
        return stored.places()

    async def _hand_over_files(self, key: str, collection: Collection, new_owner: str) -> None:
        """Give the files of a collection to its new owner, so that they can be read again."""
        new_key = person_key(access.Person(new_owner, collection.organization))
        uploads, attachments = self.queue.uploads, self.queue.attachments

        async def move(file: Attachment) -> None:
            with suppress(NotFoundError):  # the person has just deleted the file
                upload = await uploads.get(key, file.file_id)
                data = await uploads.content(key, file.file_id)
                if await uploads.repeated(new_key, file.file_id, data) is None:
                    await uploads.keep(new_key, upload, data)
            await attachments.keep(msgspec.structs.replace(file, person=new_key))

        for file in await attachments.of(collection.id):
            if file.person == key:
                async with attachments.locked(collection.id, file.file_id):
                    await move(file)

    async def _stored(self, person: Person) -> _Stored:
        key = person_key(access.Person(person.email, person.organization))
        known = (await (await self.store()).collections.all()).values()
        mine = [
            it
            for it in known
            if it.organization == person.organization and person.email in ("", it.owner)
        ]
        own = {it.id for it in mine}
        others = [it.id for it in known if it.id not in own]
        uploads = await self._uploads(person, key)
        of = self.queue.attachments.of
        attached = [it for each in others for it in await of(each) if it.person == key]
        private = [it for it in mine if it.sharing == "private"]
        return _Stored(key, private, [it for it in mine if it not in private], uploads, attached)

    async def _uploads(self, person: Person, key: str) -> list[tuple[str, Any]]:
        uploads = self.queue.uploads
        if person.email:
            return [(key, each) for each in await uploads.all(key)]
        owners = {person for person, _ in await uploads.keys()}
        files = [(owner, each) for owner in owners for each in await uploads.all(owner)]
        return [each for each in files if each[1].organization == person.organization]
