"""The ingestion of one file of a collection."""

from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
import structlog
from heddle_runtime.errors import NotFoundError, StorageError
from heddle_runtime.redaction import redact
from heddle_runtime.storage.failures import storage_problem

from heddle_knowledge.collection.types import IngestProgress
from heddle_knowledge.errors import KnowledgeError, UnreadableDocumentError
from heddle_knowledge.service.metrics import counted_ingestion
from heddle_knowledge.uploads.records import Attachment, Ingestion, now_microseconds
from heddle_knowledge.uploads.store import Uploads
from heddle_knowledge.uploads.stores import FileStores
from heddle_knowledge.web.fetching import FetchedDocument, WebDocuments
from heddle_knowledge.web.transcripts import Transcripts

if TYPE_CHECKING:  # loads the engine
    from heddle_knowledge.store import KnowledgeStore

log = structlog.get_logger(__name__)
_MAX_ATTEMPTS = 2
"""Attempts to read a file that the death of the service may break off."""
_FETCHING = IngestProgress("fetching", 0, 1)
_READING, _READ = IngestProgress("parsing", 0, 1), IngestProgress("parsing", 1, 1)
_NOT_STORED = "The service cannot store data at the moment. Attach the file again later."
_INTERRUPTED = (
    "The service stopped twice while it read the file. Convert it to plain text and attach that."
)
_BROKEN = "It could not be read. The cause is in the log of the knowledge service."


@dataclass(frozen=True, slots=True)
class Sources:
    """Reads what attached files stand for.

    Attributes:
        web: Fetches documents.
        transcripts: Fetches transcripts of videos.
    """

    web: WebDocuments
    transcripts: Transcripts

    async def read(self, attachment: Attachment, uploads: Uploads) -> FetchedDocument:
        """Return the document of a file.

        Raises:
            NotFoundError: The file was deleted.
            FetchError: The document cannot be fetched.
        """
        reading = attachment.reading
        if reading.source == "web":
            return await self.web.fetch(reading.uri)
        if reading.source == "transcript":
            captions = await self.transcripts.fetch(reading.uri, reading.language)
            return FetchedDocument(captions, f"text/vtt;seconds={reading.seconds or ''}")
        data = await uploads.content(attachment.person, attachment.file_id)
        return FetchedDocument(data, attachment.media_type)


class FileIngestion:
    """Ingests files, and reports how far each is."""

    def __init__(
        self,
        stores: FileStores,
        store: "Callable[[], Awaitable[KnowledgeStore]]",
        sources: Sources,
    ) -> None:
        self._uploads = stores.uploads
        self._attachments = stores.attachments
        self._store = store
        self._sources = sources
        self._started: dict[tuple[str, str], int] = {}
        """The start times of running ingestions, in microseconds since 1970."""

    async def ended(self, attachment: Attachment) -> Attachment:
        """Ingest a file, and return it as it is then, with the times of the ingestion."""
        key = attachment.collection, attachment.file_id
        started_at = self._started[key] = now_microseconds()
        self._attachments.report(*key, Ingestion(started_at))
        try:
            ended = await self._outcome(attachment)
        finally:
            self._started.pop(key, None)
            self._attachments.report(*key, None)
        return msgspec.structs.replace(ended, started_at=started_at, ended_at=now_microseconds())

    async def _outcome(self, attachment: Attachment) -> Attachment:
        collection, identifier = attachment.collection, attachment.file_id
        attempts = await self._attachments.attempts(collection, identifier)
        if attempts >= _MAX_ATTEMPTS:
            await self._attachments.note_attempts(collection, identifier, 0)
            return _failed(attachment, _INTERRUPTED, unreadable=True)
        try:
            await self.ingest(attachment, attempts)
        except UnreadableDocumentError as error:
            return _failed(attachment, str(error), unreadable=True)
        except Exception as error:  # noqa: BLE001 - no file may stay in progress
            return _failed(attachment, _explained(attachment, error))
        return msgspec.structs.replace(attachment, state="completed")

    async def ingest(self, attachment: Attachment, attempts: int = 0) -> None:
        """Bring a file in; `attempts` to read it have been broken off before."""
        store = await self._store()
        collection, identifier = attachment.collection, attachment.file_id
        document = await self._document(attachment)
        events = store.documents.ingest(
            collection,
            attachment.document,
            document.data,
            media_type=document.media_type,
            uri=attachment.reading.uri,
            metadata=attachment.labels(),
            chunking=attachment.reading.chunking,
        )
        ended = attempts  # if this process is stopped in an orderly way
        try:
            async with aclosing(counted_ingestion(events)) as counted:
                async for event in counted:
                    if isinstance(event, IngestProgress):
                        self._report(attachment, event)
                    if event == _READING:
                        await self._attachments.note_attempts(collection, identifier, attempts + 1)
                    elif event == _READ:
                        await self._attachments.note_attempts(collection, identifier, 0)
            ended = 0
        except KnowledgeError:
            ended = 0
            raise
        finally:
            await self._attachments.note_attempts(collection, identifier, ended)

    async def _document(self, attachment: Attachment) -> FetchedDocument:
        if attachment.reading.source != "content":
            self._report(attachment, _FETCHING)
        return await self._sources.read(attachment, self._uploads)

    def _report(self, attachment: Attachment, progress: IngestProgress) -> None:
        key = attachment.collection, attachment.file_id
        if started_at := self._started.get(key):  # otherwise it only gets other attributes
            self._attachments.report(*key, Ingestion(started_at, progress))


def _explained(attachment: Attachment, error: Exception) -> str:
    """Return why a file was not ingested, for its owner. Logs what operators must know."""
    problem = storage_problem(error) or storage_problem(error.__cause__)
    if problem is not None or isinstance(error, StorageError):
        diagnosis = getattr(problem or error, "diagnosis", "")
        log.warning("attached file not stored", file=attachment.file_id, diagnosis=diagnosis)
        return _NOT_STORED
    if isinstance(error, KnowledgeError | NotFoundError):
        return str(error)
    log.error("attached file not brought in", file=attachment.file_id, exc_info=error)
    return _BROKEN


def _failed(attachment: Attachment, error: str, *, unreadable: bool = False) -> Attachment:
    return msgspec.structs.replace(
        attachment, state="failed", error=redact(error), unreadable=unreadable
    )
