"""Reads LAMB's library servers, whose libraries become collections."""

from urllib.parse import quote

from heddle.knowledge.v1.knowledge_pb2 import SHARING_ORGANIZATION, SHARING_PRIVATE
from heddle_runtime.errors import InvalidRequestError, NotSetUpError
from pydantic import Field

from heddle_migration_service.knowledge.reading import Answer, LambCollection, LambFile, LambReader
from heddle_migration_service.knowledge.sources import Source
from heddle_migration_service.lamb.knowledge_registry import LambServer, Library

LIBRARIES, DOCUMENTS = "libraries", "library_items"
"""The tables of LAMB, which are also those of the report."""
_PAGE = 100
_STATUSES = {"ready": "completed", "pending": "processing"}


class _Item(Answer):
    id: str
    title: str = ""
    source_url: str | None = None
    original_filename: str | None = None
    content_type: str | None = None
    file_size: int | None = None
    status: str = ""
    folder_id: str | None = None


class _ItemPage(Answer):
    total: int
    items: list[_Item]


class _Folder(Answer):
    id: str
    name: str
    parent_folder_id: str | None = None


class _Tree(Answer):
    folders: list[_Folder] = Field(default_factory=list)


class LibraryReader(LambReader):
    """Reads the documents of libraries, as files with the path of their folder."""

    server_name = "LAMB's library server"
    token_setting = "HEDDLE_MIGRATION_LAMB_LIBRARY_TOKEN"  # noqa: S105 - a name

    async def files(self, server: LambServer, collection: str) -> list[LambFile]:
        """Return the documents of a library. Raises as `collections`."""
        base, files = f"/libraries/{quote(collection, safe='')}", list[LambFile]()
        tree = await self._body(server, f"{base}/tree")  # older servers have no folders
        folders = {it.id: it for it in self._read(_Tree, tree).folders} if tree else {}
        while True:
            path = f"{base}/items?limit={_PAGE}&offset={len(files)}"
            page = self._read(_ItemPage, await self._required(server, path))
            for item in page.items:
                name = item.original_filename or item.source_url or item.title
                place = f"{base}/items/{quote(item.id, safe='')}"
                file = LambFile(
                    id=item.id,
                    original_filename=name,
                    file_size=item.file_size or 0 if item.original_filename else 0,
                    content_type=item.content_type,
                    plugin_params={"url": item.source_url},
                    status=_STATUSES.get(item.status, item.status),
                    folder="/".join(_path(folders, item.folder_id)),
                    place=place,
                )
                files.append(file)
            if len(files) >= page.total or not page.items:
                return files

    async def content(self, server: LambServer, file: LambFile) -> bytes | None:
        """Return what was uploaded as a document; None if it is an address."""
        name = quote(file.original_filename, safe="")
        return await self._body(server, f"{file.place}/original/{name}")

    async def text(self, server: LambServer, file: LambFile) -> str | None:
        """Return the text that LAMB has read from a document; None if it has none."""
        body = await self._body(server, f"{file.place}/content?format=markdown")
        return None if body is None else body.decode(errors="replace")


def source_of(library: Library) -> Source:
    """Return a library as what is to be copied.

    Raises:
        HeddleError: It cannot be copied.
    """
    if library.owner is None:
        raise InvalidRequestError("Its owner is no user of LAMB.")
    if library.server.problem:
        raise InvalidRequestError(library.server.problem)
    if not library.server.url:
        setting = "HEDDLE_MIGRATION_LAMB_LIBRARY_URL"
        raise NotSetUpError(f"Its organisation has no library server. Set {setting}.")
    lamb = LambCollection(
        id=library.identifier,
        description=library.description,
        visibility="organization" if library.is_shared else "private",
    )
    sharing = SHARING_ORGANIZATION if library.is_shared else SHARING_PRIVATE
    return Source(library.server, lamb, library.owner, library.name, sharing)


def _path(folders: dict[str, _Folder], identifier: str | None) -> list[str]:
    """Return the names of a folder and of those that contain it, the outermost first."""
    names = list[str]()
    while (folder := folders.get(identifier or "")) and len(names) < len(folders):
        names.insert(0, folder.name)
        identifier = folder.parent_folder_id
    return names
