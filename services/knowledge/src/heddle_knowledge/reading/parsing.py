"""Reads and cuts documents in processes of their own, which a hostile file may hang or crash."""

import asyncio
from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeVar

import msgspec
from heddle_runtime.serving.fair_slots import NOBODY, FairSlots, QueueFullError, Tenant

from heddle_knowledge.chunking.chunks import Chunk
from heddle_knowledge.chunking.options import DEFAULT, Chunking
from heddle_knowledge.errors import BusyError, StorageError, UnreadableDocumentError
from heddle_knowledge.formats.blocks import ParsedDocument
from heddle_knowledge.workers.worker import WorkerMissingError, WorkerProcess

_SECONDS = 60.0
"""For one document."""
_WORKER = "heddle_knowledge.reading.worker"
_MAX_WAITING = 256
"""Documents that wait for a parser. Each is in memory."""
_MAX_WAITING_PER_ORGANIZATION = 64
_NOTHING: Mapping[int, str] = MappingProxyType({})
ReplyT = TypeVar("ReplyT")


class TextRequest(msgspec.Struct, frozen=True, tag=True):
    """A document whose text to read."""

    data: bytes
    media_type: str
    name: str
    max_characters: int


class TextReply(msgspec.Struct, frozen=True):
    """The beginning of the text of a document."""

    text: str
    truncated: bool


class ParseRequest(msgspec.Struct, frozen=True, tag=True):
    """A document to read and cut."""

    data: bytes
    media_type: str
    name: str
    chunking: Chunking = DEFAULT
    scanned: dict[int, str] = {}


class ParseReply(msgspec.Struct, frozen=True):
    """What a document says of itself, without its blocks, and its chunks, at least one."""

    document: ParsedDocument
    chunks: list[Chunk]


class Parser:
    """The parsing workers, seen from the store. Each starts with its first document."""

    def __init__(self, processes: int = 2, *, seconds: float = _SECONDS) -> None:
        """Prepare, without starting anything. One organisation uses all processes but one."""
        self._workers = [
            WorkerProcess(
                _WORKER,
                seconds=seconds,
                refusal=UnreadableDocumentError,
                killed_with_request=True,
            )
            for _ in range(processes)
        ]
        self._free = list(self._workers)
        self._slots = FairSlots(
            processes,
            per_organization=max(1, processes - 1),
            max_waiting=_MAX_WAITING,
            max_waiting_per_organization=_MAX_WAITING_PER_ORGANIZATION,
        )

    async def parse(
        self,
        data: bytes,
        *,
        media_type: str,
        name: str,
        chunking: Chunking = DEFAULT,
        scanned: Mapping[int, str] = _NOTHING,
        tenant: Tenant = NOBODY,
    ) -> ParseReply:
        """Read a document and cut it.

        Args:
            data: The file.
            media_type: Its type; empty: by the name.
            name: The document's name.
            chunking: How large its chunks are.
            scanned: The texts of pages that have no text layer, by their numbers from 1.
            tenant: The tenant of the document. Tenants take turns.

        Returns:
            What it says of itself, and its chunks, at least one.

        Raises:
            UnreadableDocumentError: As `documents.parse` says, or its reader hung or crashed.
            BusyError: Too many documents wait already.
            StorageError: The store is being closed, or the installation lacks a library.
        """
        request = ParseRequest(data, media_type, name, chunking, dict(scanned))
        return await self._called(request, ParseReply, tenant)

    async def text(
        self, data: bytes, *, media_type: str, name: str, max_characters: int, tenant: Tenant
    ) -> TextReply:
        """Read the beginning of the text of a document.

        Raises:
            UnreadableDocumentError: As of `parse`.
            BusyError: As of `parse`.
            StorageError: As of `parse`.
        """
        request = TextRequest(data, media_type, name, max_characters)
        return await self._called(request, TextReply, tenant)

    async def _called(
        self, request: ParseRequest | TextRequest, reply: type[ReplyT], tenant: Tenant
    ) -> ReplyT:
        try:
            await self._slots.acquire(tenant)
        except QueueFullError as full:
            whose = " of your organisation" if full.of_organization else ""
            raise BusyError(
                f"Too many documents{whose} wait to be read. Try again later."
            ) from None
        worker = self._free.pop()
        try:
            return await worker.call(
                request,
                reply,
                failed=UnreadableDocumentError(
                    f"{request.name!r} makes its reader hang or crash. Convert it to plain text "
                    "and use that."
                ),
                closed=StorageError(
                    f"The store was closed before {request.name!r} was read. Try again."
                ),
            )
        except WorkerMissingError as error:
            raise StorageError(
                "No document can be read: the process that reads them lacks a library of this "
                "installation. Install the knowledge service again; its log names the library."
            ) from error
        finally:
            self._free.append(worker)
            self._slots.release(tenant.organization)

    async def aclose(self) -> None:
        """End the workers."""
        await asyncio.gather(*(worker.aclose() for worker in self._workers))
