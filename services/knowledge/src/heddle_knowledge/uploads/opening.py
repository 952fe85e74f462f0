"""Opens what keeps uploaded files: PostgreSQL if the collections are there, otherwise a folder."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from heddle_runtime.object_store import ObjectStore

from heddle_knowledge.engines.address import is_database
from heddle_knowledge.uploads.stores import FileStores


@asynccontextmanager
async def open_file_stores(
    place: str, folder: Path, objects: ObjectStore | None = None
) -> AsyncGenerator[FileStores]:
    """Yield the stores of files.

    Args:
        place: Where the collections are; see `engines.address`.
        folder: For files, unless the collections are in PostgreSQL.
        objects: For the bytes of files whose records are in PostgreSQL.
    """
    if not is_database(place):
        yield FileStores.in_folder(folder)
        return
    from heddle_knowledge.uploads.database_attachments import DatabaseAttachments  # noqa: PLC0415 - loads the driver
    from heddle_knowledge.uploads.database_uploads import DatabaseUploads  # noqa: PLC0415 - loads the driver
    from heddle_knowledge.uploads.files_database import FilesDatabase  # noqa: PLC0415 - loads the driver

    database = FilesDatabase(place)
    attachments = DatabaseAttachments(database)
    try:
        yield FileStores(DatabaseUploads(database, objects), attachments, database)
    finally:
        await attachments.aclose()
        await database.aclose()
