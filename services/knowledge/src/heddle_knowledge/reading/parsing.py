"""Reads and cuts documents in a process of its own, which a hostile file may hang or crash."""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType

import msgspec

from heddle_knowledge.chunking.chunks import Chunk
from heddle_knowledge.chunking.options import DEFAULT, Chunking
from heddle_knowledge.errors import StorageError, UnreadableDocumentError
from heddle_knowledge.workers.worker import WorkerProcess

_WORKER = "heddle_knowledge.reading.worker"
_SECONDS = 60.0
_NOTHING: Mapping[int, str] = MappingProxyType({})


class ParseRequest(msgspec.Struct, frozen=True):
    """A document to read and cut."""

    data: bytes
    media_type: str
    name: str
    chunking: Chunking = DEFAULT
    scanned: dict[int, str] = {}


class ParseReply(msgspec.Struct, frozen=True):
    """What a document says of itself, and its chunks, at least one."""

    title: str
    time: datetime | None
    pages: int
    metadata: dict[str, str]
    chunks: list[Chunk]


class Parser:
    """The parsing worker, seen from the store. Starts with the first document."""

    def __init__(self, *, seconds: float = _SECONDS) -> None:
        """Prepare, without starting anything; `seconds` bound one document."""
        self._worker = WorkerProcess(_WORKER, seconds=seconds, refusal=UnreadableDocumentError)

    async def parse(
        self,
        data: bytes,
        *,
        media_type: str,
        name: str,
        chunking: Chunking = DEFAULT,
        scanned: Mapping[int, str] = _NOTHING,
    ) -> ParseReply:
        """Read a document and cut it.

        Args:
            data: The file.
            media_type: Its type; empty: by the name.
            name: The document's name.
            chunking: How large its chunks are.
            scanned: The texts of pages that have no text layer, by their numbers from 1.

        Returns:
            What it says of itself, and its chunks, at least one.

        Raises:
            UnreadableDocumentError: As `documents.parse` says, or its reader hung or crashed.
            StorageError: The store is being closed.
        """
        request = ParseRequest(data, media_type, name, chunking, dict(scanned))
        return await self._worker.call(
            request,
            ParseReply,
            failed=UnreadableDocumentError(
                f"{name!r} makes its reader hang or crash. Convert it to plain text and ingest "
                "that."
            ),
            closed=StorageError(f"The store was closed before {name!r} was in. Ingest it again."),
        )

    async def aclose(self) -> None:
        """End the worker."""
        await self._worker.aclose()
