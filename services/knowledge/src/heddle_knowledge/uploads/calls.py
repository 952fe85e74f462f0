"""Parts that the RPCs about files share."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

from heddle.knowledge.v1 import files_pb2 as pb
from heddle_runtime.contract.limits import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE
from heddle_runtime.contract.paging import page
from heddle_runtime.identity.call_metadata import caller
from heddle_runtime.identity.grants import GrantVerifier

from heddle_knowledge.audit.recording import AuditOutbox
from heddle_knowledge.collection.access import caller_of
from heddle_knowledge.collection.shared_registry import Shares, none_shared
from heddle_knowledge.collection.types import Collection
from heddle_knowledge.service.calls import CollectionAccess
from heddle_knowledge.uploads.deletions import FileDeletions
from heddle_knowledge.uploads.file_texts import FileTexts
from heddle_knowledge.uploads.ingestion_queue import IngestionQueue
from heddle_knowledge.uploads.records import (
    AS_THE_COLLECTION,
    Attachment,
    Attributes,
    Reading,
    now_microseconds,
)
from heddle_knowledge.uploads.store import person_key

if TYPE_CHECKING:  # loads the engine
    from heddle_knowledge.store import KnowledgeStore

FileT = TypeVar("FileT", pb.File, Attachment)
ListRequest = pb.ListFilesRequest | pb.ListFileBatchFilesRequest


class FileCalls(CollectionAccess):
    """A part of the service."""

    def __init__(
        self,
        store: "Callable[[], Awaitable[KnowledgeStore]]",
        ingestion_queue: IngestionQueue,
        audit: AuditOutbox,
        grants: GrantVerifier,
        shares: Shares = none_shared,
    ) -> None:
        super().__init__(store, shares)
        self._audit = audit
        self._ingestion_queue = ingestion_queue
        self._uploads = ingestion_queue.uploads
        self._attachments = ingestion_queue.attachments
        self._deletions = FileDeletions(store, ingestion_queue)
        self._texts = FileTexts(store, self._uploads, grants)

    async def _new_attachments(
        self,
        collection: "Collection",
        attributes: "Mapping[str, Attributes]",
        reading: Reading | None = None,
    ) -> list[Attachment]:
        """Return files of the caller's as they are at the start of their ingestion.

        A file that is attached already keeps the name of its document; the document of a new file
        gets a name that no other document has. The caller holds `IngestionQueue.alone` for the
        collection.

        Args:
            collection: Where the files go.
            attributes: The attributes of each file, by its identifier.
            reading: How they are ingested; None: as before, or as the collection says.

        Raises:
            NotFoundError: The caller has no such file.
        """
        owner = person()
        uploads = [await self._uploads.get(owner, each) for each in attributes]
        attached = await self._attachments.of(collection.id)
        names = {each.file_id: each.document for each in attached}
        readings = {each.file_id: each.reading for each in attached}
        filenames = [each.filename for each in uploads if each.id not in names]
        documents = (await self._store()).documents
        taken = await documents.present(collection.id, filenames)
        detached = await self._attachments.detached(collection.id)
        taken.update(names.values(), (each.document for each in detached))
        attachments = []
        for created_at, upload in enumerate(uploads, now_microseconds()):
            name = names.get(upload.id) or upload.filename
            if upload.id not in names and name in taken:
                name = f"{upload.id}/{name}"
            taken.add(name)
            attachment = Attachment(
                file_id=upload.id,
                collection=collection.id,
                document=name,
                person=owner,
                filename=upload.filename,
                media_type=upload.media_type,
                size=upload.size,
                attributes=attributes[upload.id],
                created_at=created_at,
                organization=collection.organization,
                reading=reading or readings.get(upload.id, AS_THE_COLLECTION),
            )
            attachments.append(attachment)
        return attachments


def page_of(files: Iterable[FileT], request: ListRequest) -> tuple[list[FileT], str]:
    """Return one page of files, the oldest first, and the token of the next page."""
    return page(
        files,
        _place,
        request.page_size,
        request.page_token,
        default=DEFAULT_PAGE_SIZE,
        maximum=MAX_PAGE_SIZE,
    )


def _place(file: pb.File | Attachment) -> str:
    if isinstance(file, Attachment):
        return f"{file.created_at:020}/{file.file_id}"
    return f"{file.create_time.ToMicroseconds():020}/{file.id}"


def person() -> str:
    """Return the key of the caller in the folder of files."""
    return person_key(caller_of(caller().identity))
