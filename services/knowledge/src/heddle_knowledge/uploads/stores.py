"""The stores of uploaded files and of files of collections."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from heddle_runtime.storage.object_store import ObjectStore

from heddle_knowledge.database.leases import Leases
from heddle_knowledge.database.opening import KnowledgeDatabase
from heddle_knowledge.database.row_objects import FolderObjects
from heddle_knowledge.files.file_locks import FileLocks
from heddle_knowledge.uploads.attachments import Attachments
from heddle_knowledge.uploads.store import Uploads


@dataclass(frozen=True, slots=True)
class FileStores:
    """Both, and the database that has their rows."""

    uploads: Uploads
    attachments: Attachments
    database: KnowledgeDatabase


@asynccontextmanager
async def open_file_stores(
    place: str, folder: Path, objects: ObjectStore | None = None
) -> AsyncGenerator[FileStores]:
    """Yield the stores of files.

    Args:
        place: Where the collections are; see `engines.address`. If that is PostgreSQL, the rows of
            files are there, too.
        folder: Of the service: for rows and files, otherwise.
        objects: For the bytes of files whose rows are in PostgreSQL; without: they are in the rows.
    """
    database = KnowledgeDatabase(place, folder)
    shared = database.shared
    locks = Leases(database) if shared else FileLocks(folder / "uploads" / "locks")
    try:
        yield FileStores(
            Uploads(database, objects if shared else FolderObjects(folder)),
            Attachments(database, locks),
            database,
        )
    finally:
        await locks.aclose()
        await database.aclose()
