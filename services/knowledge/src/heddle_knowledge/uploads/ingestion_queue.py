"""Brings files into collections in the background; what a stop interrupts begins again after it."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self
from weakref import WeakValueDictionary

import msgspec
import structlog
from heddle_runtime.errors import (
    ConflictError,
    NotFoundError,
    ResourceExhaustedError,
    StorageError,
)
from heddle_runtime.identity.call_metadata import calling_as, on_behalf_of
from heddle_runtime.identity.callers import NO_IDENTITY
from heddle_runtime.serving.fair_slots import FairSlots, Tenant

from heddle_knowledge.errors import CollectionNotFoundError, DocumentNotFoundError
from heddle_knowledge.uploads.file_ingestion import FileIngestion, Sources
from heddle_knowledge.uploads.records import (
    Attachment,
    Attributes,
    Batch,
    State,
    now_microseconds,
)
from heddle_knowledge.uploads.stores import FileStores

if TYPE_CHECKING:  # loads the engine
    from heddle_knowledge.store import KnowledgeStore

log = structlog.get_logger(__name__)
AT_ONCE = 10
"""Files that are brought in at a time: those that are ready together share a commit."""
_AT_ONCE_PER_ORGANIZATION = 8
_RETRY_SECONDS = 30.0
_ADOPT_SECONDS = 2.0
"""Seconds between looks for files that a replica which died has left."""
_MAX_LOCKS = 8
"""Locks of attached files that are held at the same time. The holders wait for each other at the
database, which refuses a lock after some seconds."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 10.0
"""Seconds between attempts to store the state of a file."""
_NOT_STORABLE = (OSError, StorageError, ConflictError)
"""Failures of a disk, of a database, and of a lease that another replica has."""


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """The limits of files that wait or are being ingested."""

    files: int = 20_000
    """The number of files of all organisations."""
    files_per_organization: int = 5_000


DEFAULT_LIMITS = QueueLimits()


class IngestionQueue:
    """The files that are on their way. Work begins and ends with the `async with` block.

    Organisations take turns, and within one the owners of its files.
    """

    def __init__(
        self,
        stores: FileStores,
        store: "Callable[[], Awaitable[KnowledgeStore]]",
        sources: Sources,
        limits: QueueLimits = DEFAULT_LIMITS,
    ) -> None:
        self.database = stores.database
        self.uploads = stores.uploads
        self.attachments = stores.attachments
        self._store = store
        self._ingestion = FileIngestion(stores, store, sources)
        self._limits = limits
        self._slots = FairSlots(AT_ONCE, per_organization=_AT_ONCE_PER_ORGANIZATION)
        self._locking = asyncio.Semaphore(_MAX_LOCKS)
        self._running: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._queued: Counter[str] = Counter()
        """Files on their way, by organisation."""
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._adopting: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        if self.attachments.shared:
            self._adopting = asyncio.create_task(self._adopt())
            return self
        for attachment in await self.attachments.unfinished():
            self._begin(attachment)
        return self

    async def __aexit__(self, *_: object) -> None:
        running = [*self._running.values(), *filter(None, [self._adopting])]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    @asynccontextmanager
    async def alone(self, identifier: str) -> AsyncGenerator[None]:
        """Exclude all others that name documents of a collection, or upload or delete a file."""
        async with (
            self._locks.setdefault(identifier, asyncio.Lock()),
            self.attachments.locks.alone(identifier),
        ):
            yield

    async def attach(self, attachment: Attachment) -> None:
        """Store the record of a file, and ingest it (again) when it is its turn.

        Raises:
            NotFoundError: The collection was deleted meanwhile.
            ResourceExhaustedError: Too many files are on their way.
        """
        self._check_room(attachment.organization, 1)
        await self._attach(attachment)

    async def _attach(self, attachment: Attachment) -> None:
        collection, identifier = attachment.collection, attachment.file_id
        await self._stop(collection, identifier)
        await self.complete_detachments(collection, identifier)
        async with self._locking, self.attachments.locked(collection, identifier):
            if collection not in await (await self._store()).collections.all():
                raise NotFoundError("The collection was just deleted. Create it again.")
            await self.attachments.keep(attachment)
        try:  # a deletion of the file that has not seen the attachment has begun before this
            await self.uploads.get(attachment.person, identifier)
        except NotFoundError:
            await self.detach(attachment)
            raise
        self._begin(attachment)

    async def attach_all(self, batch: Batch, attachments: "Sequence[Attachment]") -> None:
        """Do the same with the files of a batch, and keep the batch.

        Raises:
            NotFoundError: The collection was deleted meanwhile.
            ResourceExhaustedError: Too many files are on their way.
        """
        for organization, count in Counter(each.organization for each in attachments).items():
            self._check_room(organization, count)
        await asyncio.gather(*map(self._attach, attachments))
        await self.attachments.keep_batch(batch)

    async def cancel(self, batch: Batch) -> Batch:
        """Cancel the unfinished files of a batch; return the batch afterwards.

        Raises:
            NotFoundError: The collection was deleted meanwhile.
            KnowledgeError: It cannot be told whether a file is in.
        """
        files = await self.attachments.of_batch(batch)
        waiting = [each for each in files if each.state == "in_progress"]
        if not waiting:
            return batch
        cancelled = msgspec.structs.replace(batch, cancelled=True)
        await self.attachments.keep_batch(cancelled)
        await asyncio.gather(*map(self._give_up, waiting))
        return cancelled

    async def cancel_file(self, attachment: Attachment) -> Attachment:
        """Cancel a file if it is unfinished; return it afterwards.

        Raises:
            NotFoundError: It was taken out, or the collection was deleted, meanwhile.
            KnowledgeError: It cannot be told whether the file is in.
        """
        if attachment.state == "in_progress":
            await self._give_up(attachment)
        return await self.attachments.get(attachment.collection, attachment.file_id)

    async def relabel(
        self, collection: str, identifier: str, attributes: "Attributes"
    ) -> Attachment:
        """Replace what is noted about a file of a collection, and in its document; return it.

        Raises:
            NotFoundError: It is not in the collection, or the file itself was deleted.
            ConflictError: It is on its way.
            KnowledgeError: It is not possible.
        """
        await self._settled(collection, identifier)
        async with self.attachments.locked(collection, identifier):
            # Again: whoever held the lock before may have taken it out, or begun it anew.
            existing = await self._settled(collection, identifier)
            changed = msgspec.structs.replace(existing, attributes=attributes)
            if existing.state == "completed":
                await self._ingestion.ingest(changed)
            await self.attachments.keep(changed)
        return changed

    async def detach(self, attachment: Attachment) -> None:
        """Remove a file from its collection, even while it is being ingested.

        It is marked first, so that a crash or an error after that is completed.

        Raises:
            KnowledgeError: Its document cannot be deleted.
        """
        collection, identifier = attachment.collection, attachment.file_id
        await self._stop(collection, identifier)
        async with self.attachments.locked(collection, identifier):
            await self.attachments.mark_detached(collection, identifier)
            await self._take_out(collection, identifier)

    async def complete_detachments(self, *place: str) -> None:
        """Remove the files that are marked as detached.

        Args:
            place: A collection and the identifier of a file; all files if it is left out.

        Raises:
            KnowledgeError: A document cannot be deleted.
        """
        for attachment in await self.attachments.detached(*place):
            collection, identifier = attachment.collection, attachment.file_id
            async with self.attachments.locked(collection, identifier):
                await self._take_out(collection, identifier)

    async def _take_out(self, collection: str, identifier: str) -> None:
        """Delete the document of a file that is marked as detached, if it still is."""
        detached = self.attachments.detached
        for attachment in await detached(collection, identifier):
            with suppress(DocumentNotFoundError, CollectionNotFoundError):
                await (await self._store()).documents.delete(collection, attachment.document)
            await self.attachments.forget(collection, identifier)

    async def forget_all(self, collection: str) -> None:
        """Stop and forget all files of a collection that was deleted."""
        running = [task for key, task in self._running.items() if key[0] == collection]
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)
        await self.attachments.forget_all(collection)

    async def _settled(self, collection: str, identifier: str) -> Attachment:
        existing = await self.attachments.get(collection, identifier)
        if existing.state == "in_progress":
            raise ConflictError("The file is still being brought in. Try again after that.")
        return existing

    async def _give_up(self, attachment: Attachment) -> None:
        collection, identifier = attachment.collection, attachment.file_id
        await self._stop(collection, identifier)
        async with self._locking, self.attachments.locked(collection, identifier):
            now = await self.attachments.find(collection, identifier)
            if now is not None and now.state == "in_progress":
                state: State = "completed" if await self._is_in(now) else "cancelled"
                ended = msgspec.structs.replace(now, state=state, ended_at=now_microseconds())
                await self.attachments.keep(ended)

    async def _is_in(self, attachment: Attachment) -> bool:
        """Return whether the document of a file is stored: its commit may have been in progress."""
        documents = (await self._store()).documents
        try:
            existing = await documents.get(attachment.collection, attachment.document)
        except DocumentNotFoundError:
            return False
        return dict(existing.metadata) == attachment.labels()

    def _check_room(self, organization: str, count: int) -> None:
        limits = self._limits
        if self._queued[organization] + count > limits.files_per_organization:
            raise ResourceExhaustedError(
                f"Your organisation may have {limits.files_per_organization:,} files on their way "
                "into collections. Try again when some are done.",
                retry_after=_RETRY_SECONDS,
            )
        if self._queued.total() + count > limits.files:
            raise ResourceExhaustedError(
                f"{limits.files:,} files are on their way into collections. Try again when some "
                "are done.",
                retry_after=_RETRY_SECONDS,
            )

    async def _adopt(self) -> None:
        """Begin the work of dead replicas, at intervals."""
        while True:
            try:
                for attachment in await self.attachments.unfinished():
                    if (attachment.collection, attachment.file_id) not in self._running:
                        self._begin(attachment)
            except StorageError as error:
                log.warning("attached files not looked for", diagnosis=error.diagnosis)
            await asyncio.sleep(_ADOPT_SECONDS)

    def _begin(self, attachment: Attachment) -> None:
        key = attachment.collection, attachment.file_id
        tenant = Tenant(attachment.organization, attachment.person)
        with calling_as(on_behalf_of(NO_IDENTITY)):  # the file names whose rights count
            task = asyncio.create_task(self._bring(*key, tenant))
        self._running[key] = task
        self._queued[attachment.organization] += 1
        task.add_done_callback(lambda done: self._forget(key, attachment.organization, done))

    async def _stop(self, collection: str, identifier: str) -> None:
        if (task := self._running.get((collection, identifier))) is not None:
            task.cancel()
            await asyncio.wait([task])

    def _forget(self, key: tuple[str, str], organization: str, done: "asyncio.Task[None]") -> None:
        self._queued[organization] -= 1
        if not self._queued[organization]:
            del self._queued[organization]
        if self._running.get(key) is done:
            del self._running[key]
        if done.cancelled():
            return
        if (error := done.exception()) is not None:
            log.error("attached file not kept", exc_info=error)

    async def _bring(self, collection: str, identifier: str, tenant: Tenant) -> None:
        """Ingest a file, and store how it ended; again while the disk refuses that."""
        pause = _FIRST_PAUSE
        while True:
            try:
                await self._bring_once(collection, identifier, tenant)
            except _NOT_STORABLE as error:
                if pause == _FIRST_PAUSE:
                    log.warning(
                        "state of an attached file not stored", file=identifier, cause=str(error)
                    )
                if self.attachments.shared:
                    return  # `_adopt` finds it again
            else:
                return
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _bring_once(self, collection: str, identifier: str, tenant: Tenant) -> None:
        async with (
            self._slots.slot(tenant),
            self.attachments.claimed(collection, identifier) as is_ours,
        ):
            if not is_ours:  # another process is at it
                return
            now = await self.attachments.find(collection, identifier)
            if now is not None and now.state == "in_progress":
                await self.attachments.keep(await self._ingestion.ended(now))
