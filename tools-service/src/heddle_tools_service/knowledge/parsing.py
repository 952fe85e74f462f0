"""Reads and cuts documents in a process of its own, which a hostile file may hang or crash."""

import msgspec

from heddle_tools_service.knowledge.chunking import DEFAULT, Chunking
from heddle_tools_service.knowledge.errors import StorageError, UnreadableDocumentError
from heddle_tools_service.knowledge.frames import ParseReply, ParseRequest
from heddle_tools_service.knowledge.worker import (
    WorkerClosedError,
    WorkerFailedError,
    WorkerProcess,
)

_WORKER = "heddle_tools_service.knowledge.parsing_worker"
_SECONDS = 60.0


class Parser:
    """The parsing worker, seen from the store. Starts with the first document."""

    def __init__(self, *, seconds: float = _SECONDS) -> None:
        """Prepare, without starting anything; `seconds` bound one document."""
        self._worker = WorkerProcess(_WORKER, seconds=seconds)

    async def parse(
        self, data: bytes, *, media_type: str, name: str, chunking: Chunking = DEFAULT
    ) -> ParseReply:
        """Read a document and cut it.

        Args:
            data: The file.
            media_type: Its type; empty: by the name.
            name: The document's name.
            chunking: How large its chunks are.

        Returns:
            What it says of itself, and its chunks, at least one.

        Raises:
            UnreadableDocumentError: As `documents.parse` says, or its reader hung or crashed.
            StorageError: The store is being closed.
        """
        request = ParseRequest(data, media_type, name, chunking)
        try:
            payload = await self._worker.call(msgspec.msgpack.encode(request))
        except WorkerClosedError as error:
            raise StorageError(
                f"The store was closed before {name!r} was in. Ingest it again."
            ) from error
        except WorkerFailedError as error:
            raise UnreadableDocumentError(
                f"{name!r} makes its reader hang or crash. Convert it to plain text and ingest "
                "that."
            ) from error
        reply = msgspec.msgpack.decode(payload, type=ParseReply)
        if reply.unreadable:
            raise UnreadableDocumentError(reply.unreadable)
        return reply

    async def aclose(self) -> None:
        """End the worker."""
        await self._worker.aclose()
