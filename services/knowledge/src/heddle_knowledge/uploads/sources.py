"""Reads the source of a file's ingestion: its content, or a document that is fetched."""

from dataclasses import dataclass

from heddle_knowledge.uploads.records import Attachment
from heddle_knowledge.uploads.store import Uploads
from heddle_knowledge.web.fetching import FetchedDocument, WebDocuments
from heddle_knowledge.web.transcripts import Transcripts


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
