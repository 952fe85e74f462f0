"""The files and batches of collections and their state."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager

import msgspec
import structlog
from heddle_runtime.errors import ConflictError, NotFoundError, StorageError
from heddle_runtime.storage.database.claims import clock
from heddle_runtime.storage.database.inserting import insertion, upsert
from sqlalchemy import ColumnElement, Row, case, delete, select, union, update

from heddle_knowledge.database.leases import Leases
from heddle_knowledge.database.opening import KnowledgeDatabase
from heddle_knowledge.database.schema import attached_files, file_batches, leases
from heddle_knowledge.files.file_locks import FileLocks
from heddle_knowledge.uploads.records import BATCH, Attachment, Batch, Ingestion, is_id

log = structlog.get_logger(__name__)
_MAX_CLAIMED = 1_000
"""Files that a replica takes into its queue at once."""
_DETACHED = "detached"
_FILES, _BATCHES = attached_files.c, file_batches.c
_decode = msgspec.json.Decoder(Attachment).decode
_decode_ingestion = msgspec.json.Decoder(Ingestion).decode
_decode_batch = msgspec.json.Decoder(Batch).decode


class Attachments:
    """Reads and writes the tables. Who works on a file holds its lock."""

    def __init__(self, database: KnowledgeDatabase, locks: FileLocks | Leases) -> None:
        self.shared = locks.shared
        """Whether replicas take over each other's work, and so look for it."""
        self.locks = locks
        self._database = database

    def report(self, collection: str, identifier: str, ingestion: Ingestion | None) -> None:
        """Show how far the ingestion of a file is; None: it has ended.

        Other replicas see it when the lease of the file is renewed.
        """
        content = None if ingestion is None else msgspec.json.encode(ingestion)
        self.locks.report(collection, identifier, content)

    async def reported(self, attachments: Sequence[Attachment]) -> Mapping[str, Ingestion]:
        """Return the ingestions of files of one collection, by their identifiers."""
        running = [each for each in attachments if each.state == "in_progress"]
        if not running:
            return {}
        names = [each.file_id for each in running]
        reports = await self.locks.reports(running[0].collection, names)
        return {name: _decode_ingestion(report) for name, report in reports.items()}

    async def keep(self, attachment: Attachment) -> None:
        """Store a file of a collection, whose lock this process holds.

        Raises:
            ConflictError: It does not hold the lock any more.
        """
        it = attachment
        async with self._database.writing() as connection:
            if not await self.locks.holds(connection, it.collection, it.file_id):
                raise ConflictError("Another process works on the file. Try again.")
            new = insertion(connection, attached_files).values(
                collection=it.collection,
                id=it.file_id,
                state=it.state,
                created_at=it.created_at,
                record=msgspec.json.encode(it),
            )
            # A file that is attached anew may be read as often as a new one.
            attempts = case((new.excluded.state == "in_progress", 0), else_=_FILES.attempts)
            await connection.execute(upsert(new, attempts=attempts))

    async def keep_batch(self, batch: Batch) -> None:
        """Store a batch of a collection."""
        async with self._database.writing() as connection:
            new = insertion(connection, file_batches).values(
                collection=batch.collection, id=batch.id, record=msgspec.json.encode(batch)
            )
            await connection.execute(upsert(new))

    async def batches(self, collection: str) -> list[Batch]:
        """Return the batches of a collection."""
        query = select(_BATCHES.record).where(_BATCHES.collection == collection)
        async with self._database.reading() as connection:
            return [_decode_batch(each) for each in (await connection.execute(query)).scalars()]

    async def batch(self, collection: str, identifier: str) -> Batch:
        """Return a batch of a collection.

        Raises:
            NotFoundError: There is none.
        """
        if is_id(identifier, BATCH):
            of_batch = _BATCHES.collection == collection, _BATCHES.id == identifier
            async with self._database.reading() as connection:
                record = await connection.scalar(select(_BATCHES.record).where(*of_batch))
            if record is not None:
                return _decode_batch(record)
        raise NotFoundError(
            f"The collection has no batch of files {identifier[:80]!r}. Make one, or list the "
            "files of the collection."
        )

    async def get(self, collection: str, identifier: str) -> Attachment:
        """Return a file of a collection.

        Raises:
            NotFoundError: There is none.
        """
        if (attachment := await self.find(collection, identifier)) is not None:
            return attachment
        raise NotFoundError(
            f"The collection has no file {identifier[:80]!r}. List its files, or attach it."
        )

    async def find(self, collection: str, identifier: str) -> Attachment | None:
        """Return a file of a collection, None if there is none."""
        if not is_id(identifier):
            return None
        files = await self._stored(_FILES.collection == collection, _FILES.id == identifier)
        return files[0] if files else None

    async def of(self, collection: str) -> list[Attachment]:
        """Return the files of a collection."""
        return await self._stored(_FILES.collection == collection)

    async def of_batch(self, batch: Batch) -> list[Attachment]:
        """Return the files of a batch that are still in the collection."""
        files = await self._stored(
            _FILES.collection == batch.collection, _FILES.id.in_(batch.files)
        )
        by_id = {each.file_id: each for each in files}
        return [by_id[each] for each in batch.files if each in by_id]

    async def everywhere(self, identifier: str) -> list[Attachment]:
        """Return a file as it is in each collection that has it."""
        return await self._stored(_FILES.id == identifier)

    async def collections(self) -> set[str]:
        """Return the ids of the collections that have files."""
        query = union(select(_FILES.collection), select(_BATCHES.collection))
        async with self._database.reading() as connection:
            return {*(await connection.execute(query)).scalars()}

    async def unfinished(self) -> list[Attachment]:
        """Return files of all collections that no replica works on, the oldest first."""
        query = select(_FILES.record).where(_FILES.state == "in_progress")
        async with self._database.reading() as connection:
            if self.shared:
                lease = select(leases.c.holder).where(
                    leases.c.collection == _FILES.collection,
                    leases.c.name == _FILES.id,
                    leases.c.expires_at > clock(connection),
                )
                query = query.where(~lease.exists()).limit(_MAX_CLAIMED)
            rows = (await connection.execute(query.order_by(_FILES.created_at))).all()
        return await asyncio.to_thread(_decoded, rows)

    async def mark_detached(self, collection: str, identifier: str) -> None:
        """Hide a file of a collection from all readers until `forget` removes it."""
        await self._change(collection, identifier, state=_DETACHED)

    async def detached(self, collection: str = "", identifier: str = "") -> list[Attachment]:
        """Return the files that are marked as detached: of all collections, or of one."""
        query = select(_FILES.record).where(_FILES.state == _DETACHED)
        for column, value in ((_FILES.collection, collection), (_FILES.id, identifier)):
            if value:
                query = query.where(column == value)
        async with self._database.reading() as connection:
            return _decoded((await connection.execute(query)).all())

    async def forget(self, collection: str, identifier: str) -> None:
        """Forget a file of a collection."""
        of_file = _FILES.collection == collection, _FILES.id == identifier
        async with self._database.writing() as connection:
            await connection.execute(delete(attached_files).where(*of_file))

    async def forget_all(self, collection: str) -> None:
        """Forget the files of a collection that is no more. Ingestions of all replicas end."""
        await self.locks.take_away(collection)
        async with self._database.writing() as connection:
            for table in (attached_files, file_batches):
                await connection.execute(delete(table).where(table.c.collection == collection))

    async def attempts(self, collection: str, identifier: str) -> int:
        """Return the number of times that the service died while it read a file."""
        of_file = _FILES.collection == collection, _FILES.id == identifier
        async with self._database.reading() as connection:
            return await connection.scalar(select(_FILES.attempts).where(*of_file)) or 0

    async def note_attempts(self, collection: str, identifier: str, count: int) -> None:
        """Store how many attempts to read a file have begun and not ended, if possible."""
        try:
            await self._change(collection, identifier, attempts=count)
        except StorageError as error:
            log.warning("attempts to read a file not stored", diagnosis=error.diagnosis)

    def locked(self, collection: str, identifier: str) -> AbstractAsyncContextManager[None]:
        """Exclude all others that work on a file of a collection; an ingestion gives way."""
        return self.locks.waited_for(collection, identifier)

    def claimed(self, collection: str, identifier: str) -> AbstractAsyncContextManager[bool]:
        """Exclude all others for the ingestion of a file; say whether it may begin."""
        return self.locks.if_free(collection, identifier)

    async def _change(self, collection: str, identifier: str, **values: object) -> None:
        of_file = _FILES.collection == collection, _FILES.id == identifier
        async with self._database.writing() as connection:
            await connection.execute(update(attached_files).where(*of_file).values(**values))

    async def _stored(self, *conditions: ColumnElement[bool]) -> list[Attachment]:
        query = select(_FILES.record).where(_FILES.state != _DETACHED, *conditions)
        async with self._database.reading() as connection:
            rows = (await connection.execute(query)).all()
        if len(rows) < _MAX_CLAIMED:
            return _decoded(rows)
        return await asyncio.to_thread(_decoded, rows)


def _decoded(rows: Sequence[Row[tuple[bytes]]]) -> list[Attachment]:
    return [_decode(row.record) for row in rows]
