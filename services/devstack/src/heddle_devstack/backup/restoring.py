"""Bringing a backup into an empty installation.

A table in the database of the assistants service says that a restore is under way. The transaction
that brings in the rows of the database is the last step, and removes it. Until then, the same
command with the same archive begins anew.
"""

from collections.abc import AsyncGenerator, Collection
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

from heddle_assistants.database.schema import SCHEMA
from heddle_knowledge.backup import collection_rows, file_rows, page_rows
from heddle_knowledge.pages.page_place import open_pages
from heddle_runtime.errors import InvalidRequestError
from heddle_runtime.storage.database import table_rows
from heddle_runtime.storage.database.engine import Database, open_database
from heddle_runtime.storage.database.upgrading import newest_revision, upgrade
from heddle_runtime.storage.private_files import private_folder
from sqlalchemy import inspect, text

from heddle_devstack.backup import folder_rows, secret_rows
from heddle_devstack.backup.archive import Manifest, unpacked_rows
from heddle_devstack.backup.installation import (
    IMAGES,
    SECRETS,
    WORKSPACES,
    has_collections,
    open_files,
    parts,
)
from heddle_devstack.backup.stores import Stores

_MARK = "heddle_restore"


async def restore(stores: Stores, manifest: Manifest, folder: Path) -> list[str]:
    """Bring in the parts of an archive that are unpacked in a folder.

    Return the rows that the database refuses, each with its key and the reason.

    Raises:
        InvalidRequestError: The installation is not empty, or is of another version.
    """
    header = manifest.header
    if header.schema != newest_revision(SCHEMA):
        raise InvalidRequestError(
            f"The backup was made by Heddle {header.heddle} with tables of revision "
            f"{header.schema}; this Heddle has revision {newest_revision(SCHEMA)}. Restore it with "
            "that version, and upgrade then."
        )
    async with _opened(stores) as database:
        begun = await _begun(database)
        if begun != header.id:
            await _require_empty(stores, header.contents, begun)
        if SECRETS in header.contents:
            await secret_rows.install(stores, unpacked_rows(folder, "settings/secrets"))
        await _begin(database, header.id)
        await _clear(stores)
        if WORKSPACES in header.contents:
            folder_rows.clear(stores.tools.workspace_dir)
        await _add_knowledge(stores, manifest, folder)
        await _add_files(stores, folder)
        return await _add_rows(database, folder)


@asynccontextmanager
async def _opened(stores: Stores) -> AsyncGenerator[Database]:
    async with open_database(stores.assistants.database) as database:
        await upgrade(database, SCHEMA)
        yield database


async def _begun(database: Database) -> str:
    async with database.reading() as connection:
        if await connection.run_sync(lambda it: inspect(it).has_table(_MARK)):
            return str(await connection.scalar(text(f"SELECT backup FROM {_MARK}")))  # noqa: S608 - a constant
        return ""


async def _begin(database: Database, backup: str) -> None:
    async with database.writing() as connection:
        await connection.execute(text(f"DROP TABLE IF EXISTS {_MARK}"))
        await connection.execute(text(f"CREATE TABLE {_MARK} (backup text)"))
        insert = text(f"INSERT INTO {_MARK} VALUES (:backup)")  # noqa: S608 - a constant
        await connection.execute(insert, {"backup": backup})


async def _require_empty(stores: Stores, contents: Collection[str], begun: str) -> None:
    async with aclosing(
        parts(stores, [each for each in contents if each == WORKSPACES])
    ) as listed_parts:
        async for part in listed_parts:
            async for _ in part.rows:
                other = " The restore of another backup did not end here." if begun else ""
                raise InvalidRequestError(
                    f"The installation is not empty: it has rows of {part.name!r}.{other} A backup "
                    "is restored into an empty one: name an empty database, and empty folders."
                )


async def _clear(stores: Stores) -> None:
    """Remove what an earlier attempt has brought in: everything was empty before it."""
    folder = stores.knowledge.data_dir
    storage = stores.collections
    place = str(storage.place)
    private_folder(folder)
    if has_collections(place):
        await collection_rows.clear(place, storage.options)
    objects = stores.knowledge.object_store()
    async with open_files(stores) as files:
        await file_rows.clear(files)
    async with open_pages(place, folder / "pages", objects) as pages:
        await page_rows.clear(pages)
    if images := stores.connector.object_store():
        await folder_rows.clear_objects(images, IMAGES)
    else:
        folder_rows.clear(stores.connector.images_dir)


async def _add_knowledge(stores: Stores, manifest: Manifest, folder: Path) -> None:
    data_dir = stores.knowledge.data_dir
    storage = stores.collections
    place = str(storage.place)
    names = [part.name for part in manifest.parts]
    if "knowledge/collections" in names:
        opening = collection_rows.open_collection_rows(place, storage.options)
        async with opening as collections:
            await collections.add(unpacked_rows(folder, "knowledge/collections"))
            for name in names:
                kind, _, identifier = name.rpartition("/")
                if kind == "knowledge/passages":
                    await collections.add_passages(identifier, unpacked_rows(folder, name))
    objects = stores.knowledge.object_store()
    async with open_files(stores) as files:
        await file_rows.add_uploads(files, unpacked_rows(folder, "knowledge/uploads"))
        for name, tables in (("attached", file_rows.ATTACHED), ("outbox", file_rows.OUTBOX)):
            await file_rows.add(files.database, tables, unpacked_rows(folder, f"knowledge/{name}"))
    async with open_pages(place, data_dir / "pages", objects) as pages:
        graphs = unpacked_rows(folder, "knowledge/graphs")
        await file_rows.add(pages.database, file_rows.GRAPHS, graphs)
        await page_rows.add(pages, unpacked_rows(folder, "knowledge/pages"))


async def _add_files(stores: Stores, folder: Path) -> None:
    images = unpacked_rows(folder, "files/images")
    if objects := stores.connector.object_store():
        await folder_rows.add_objects(objects, IMAGES, images)
    else:
        await folder_rows.add(stores.connector.images_dir, images)
    workspaces = unpacked_rows(folder, "files/workspaces")
    await folder_rows.add(stores.tools.workspace_dir, workspaces)


async def _add_rows(database: Database, folder: Path) -> list[str]:
    refused: list[str] = []
    async with database.writing() as connection:
        for table in SCHEMA.tables:
            rows = unpacked_rows(folder, f"database/{table.name}")
            refused += await table_rows.add(connection, table, rows)
        last_ids = unpacked_rows(folder, "database/last_ids")
        await table_rows.continue_ids(connection, SCHEMA, last_ids)
        await connection.execute(text(f"DROP TABLE {_MARK}"))
    return refused
