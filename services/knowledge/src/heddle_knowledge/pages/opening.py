"""Opens the place of pages: beside the collections."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from heddle_runtime.object_store import ObjectStore

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
    yield FolderPages(folder)
