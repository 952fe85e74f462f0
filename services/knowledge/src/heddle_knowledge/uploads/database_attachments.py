"""The files of collections in PostgreSQL: jobs that any replica may claim, and their results."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager

import asyncpg
import msgspec
from heddle_runtime.errors import ConflictError

from heddle_knowledge.uploads.attachment_reading import AttachmentReading
from heddle_knowledge.uploads.files_database import FilesDatabase
from heddle_knowledge.uploads.leases import Leases
from heddle_knowledge.uploads.records import Attachment, Batch, Ingestion

_MAX_CLAIMED = 1_000
"""Files that a replica takes into its queue at once."""
_NAMES = "names"
"""The lease for naming documents. No file has this identifier."""
_KEEP = """
INSERT INTO attached_files (collection, id, state, created_at, record)
SELECT $1, $2, $3, $4, $5 WHERE EXISTS (
  SELECT FROM leases WHERE holder = $6 AND expires_at > clock_timestamp()
)
ON CONFLICT (collection, id) DO UPDATE
SET state = excluded.state, created_at = excluded.created_at, record = excluded.record,
  attempts = CASE WHEN excluded.state = 'in_progress' THEN 0 ELSE attached_files.attempts END
RETURNING true
"""
_KEEP_BATCH = """
INSERT INTO file_batches (collection, id, record) VALUES ($1, $2, $3)
ON CONFLICT (collection, id) DO UPDATE SET record = excluded.record
"""
_UNFINISHED = """
SELECT record FROM attached_files f
WHERE state = 'in_progress' AND NOT EXISTS (
  SELECT FROM leases l WHERE l.collection = f.collection AND l.name = f.id
    AND l.expires_at > clock_timestamp()
)
ORDER BY created_at LIMIT $1
"""
_REPORTED = """
SELECT name, report FROM leases WHERE collection = $1 AND name = ANY($2)
  AND report IS NOT NULL AND expires_at > clock_timestamp()
"""
_NOTE = "UPDATE attached_files SET attempts = $3 WHERE collection = $1 AND id = $2"
_decode = msgspec.json.Decoder(Attachment).decode
_decode_ingestion = msgspec.json.Decoder(Ingestion).decode
_decode_batch = msgspec.json.Decoder(Batch).decode


class LeaseLostError(ConflictError):
    """The lease of a file expired while this replica worked on it. Another one does so now."""


class DatabaseAttachments(AttachmentReading):
    """Reads and writes the database. As `attachments.Attachments`.

    Methods that are not `async` block, and are for threads, unless they say otherwise.
    """

    shared = True

    def __init__(self, database: FilesDatabase) -> None:
        self._database = database
        self._leases = Leases(database)
        self._noting = asyncio.Lock()

    def show(self, attachment: Attachment) -> None:
        """Do nothing: what is not stored is done again. Does not block."""

    def shown(self, collection: str, identifier: str) -> Attachment | None:
        """Return None. Does not block."""

    def report(self, collection: str, identifier: str, ingestion: Ingestion | None) -> None:
        """Show how far the ingestion of a file is; None: it has ended. Does not block.

        Other replicas see it when the lease of the file is renewed.
        """
        content = None if ingestion is None else msgspec.json.encode(ingestion)
        self._leases.report(collection, identifier, content)

    def reported(self, attachments: Sequence[Attachment]) -> Mapping[str, Ingestion]:
        """Return the ingestions of files of one collection, by their identifiers."""
        running = [each for each in attachments if each.state == "in_progress"]
        if not running:
            return {}
        names = [each.file_id for each in running]
        rows = self._database.rows(_REPORTED, running[0].collection, names)
        return {row["name"]: _decode_ingestion(row["report"]) for row in rows}

    def prepare(self, collection: str) -> None:
        """Do nothing."""

    def keep(self, attachment: Attachment) -> None:
        """Store a file of a collection, whose lock this process holds.

        Raises:
            LeaseLostError: It does not hold the lock any more.
        """
        it = attachment
        holder = self._leases.holder(it.collection, it.file_id)
        record = msgspec.json.encode(it)
        row = (it.collection, it.file_id, it.state, it.created_at, record, holder)
        if not self._database.rows(_KEEP, *row):
            raise LeaseLostError("Another process works on the file. Try again.")

    def keep_batch(self, batch: Batch) -> None:
        """Store a batch of a collection."""
        self._database.rows(_KEEP_BATCH, batch.collection, batch.id, msgspec.json.encode(batch))

    def batches(self, collection: str) -> list[Batch]:
        """Return the batches of a collection."""
        statement = "SELECT record FROM file_batches WHERE collection = $1"
        return [_decode_batch(row["record"]) for row in self._database.rows(statement, collection)]

    def forget_batch(self, collection: str, identifier: str) -> None:
        """Forget a batch of a collection."""
        statement = "DELETE FROM file_batches WHERE collection = $1 AND id = $2"
        self._database.rows(statement, collection, identifier)

    def _find_batch(self, collection: str, identifier: str) -> Batch | None:
        statement = "SELECT record FROM file_batches WHERE collection = $1 AND id = $2"
        for row in self._database.rows(statement, collection, identifier):
            return _decode_batch(row["record"])
        return None

    def find(self, collection: str, identifier: str) -> Attachment | None:
        """Return a file of a collection, None if there is none."""
        for attachment in self._some(collection, [identifier]):
            return attachment
        return None

    def of(self, collection: str) -> list[Attachment]:
        """Return the files of a collection."""
        statement = "SELECT record FROM attached_files WHERE collection = $1"
        return _decoded(self._database.rows(statement, collection))

    def of_batch(self, batch: Batch) -> list[Attachment]:
        """Return the files of a batch that are still in the collection."""
        attachments = {each.file_id: each for each in self._some(batch.collection, batch.files)}
        return [attachments[each] for each in batch.files if each in attachments]

    def anywhere(self, identifier: str) -> bool:
        """Say whether a file is in any collection."""
        return bool(self._database.rows("SELECT FROM attached_files WHERE id = $1", identifier))

    def unfinished(self) -> list[Attachment]:
        """Return files of all collections that no replica works on, the oldest first."""
        return _decoded(self._database.rows(_UNFINISHED, _MAX_CLAIMED))

    def forget(self, collection: str, identifier: str) -> None:
        """Forget a file of a collection."""
        statement = "DELETE FROM attached_files WHERE collection = $1 AND id = $2"
        self._database.rows(statement, collection, identifier)

    def forget_all(self, collection: str) -> None:
        """Forget the files of a collection that is no more. Ingestions of all replicas end."""
        for table in ("attached_files", "file_batches", "leases"):
            self._database.rows(f"DELETE FROM {table} WHERE collection = $1", collection)  # noqa: S608 - constants

    def attempts(self, collection: str, identifier: str) -> int:
        """Return how often a replica died while it read a file."""
        statement = "SELECT attempts FROM attached_files WHERE collection = $1 AND id = $2"
        rows = self._database.rows(statement, collection, identifier)
        return int(rows[0]["attempts"]) if rows else 0

    def note_attempts(self, collection: str, identifier: str, count: int) -> None:
        """Begin to store the number of attempts that have not ended. Does not block."""
        self._database.start(self._note(collection, identifier, count))

    @asynccontextmanager
    async def locked(self, collection: str, identifier: str) -> AsyncGenerator[None]:
        """Exclude all others that work on a file of a collection; an ingestion gives way."""
        async with self._leases.waited_for(collection, identifier):
            yield

    @asynccontextmanager
    async def claimed(self, collection: str, identifier: str) -> AsyncGenerator[bool]:
        """Exclude all others for the ingestion of a file; say whether no other one is at it."""
        async with self._leases.if_free(collection, identifier) as free:
            yield free

    @asynccontextmanager
    async def naming(self, collection: str) -> AsyncGenerator[None]:
        """Exclude all other replicas that name documents of a collection."""
        async with self._leases.waited_for(collection, _NAMES):
            yield

    async def aclose(self) -> None:
        """Stop to renew leases."""
        await self._leases.aclose()

    async def _note(self, collection: str, identifier: str, count: int) -> None:
        async with self._noting:  # in their order
            await self._database.fetch(_NOTE, collection, identifier, count)

    def _some(self, collection: str, identifiers: Sequence[str]) -> list[Attachment]:
        statement = "SELECT record FROM attached_files WHERE collection = $1 AND id = ANY($2)"
        return _decoded(self._database.rows(statement, collection, list(identifiers)))


def _decoded(rows: Sequence[asyncpg.Record]) -> list[Attachment]:
    return [_decode(row["record"]) for row in rows]
