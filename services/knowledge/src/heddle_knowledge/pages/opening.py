"""Opens the place of pages: PostgreSQL if the collections are there, otherwise a folder."""

from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

from heddle_runtime.storage.object_store import ObjectStore

from heddle_knowledge.engines.address import is_database
from heddle_knowledge.pages.folder_pages import FolderPages
from heddle_knowledge.pages.places import PagePlace


@asynccontextmanager
async def open_pages(
    place: str, folder: Path, objects: ObjectStore | None = None
) -> AsyncGenerator[PagePlace]:
    """Yield the place of pages.

    Args:
        place: Where the collections are; see `engines.address`.
        folder: For pages, unless the collections are in PostgreSQL.
        objects: For pictures of pages whose records are in PostgreSQL.
    """
    if not is_database(place):
        yield FolderPages(folder)
        return
    from heddle_knowledge.pages.database_pages import DatabasePages  # noqa: PLC0415 - loads the driver

    async with aclosing(DatabasePages(place, objects)) as pages:
        yield pages
