"""Reading everything that an installation stores, while its services run.

The order makes references lead somewhere after a restore. What refers to something else is read
before it: assistants before collections, the states of files before passages, both before the
bytes of uploads. What was acknowledged before the first read is in the backup, with all that it
refers to and that is not deleted meanwhile.
"""

import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterable
from contextlib import AbstractAsyncContextManager, aclosing
from pathlib import Path
from typing import IO, Any

import msgspec
from heddle_assistants.database.schema import SCHEMA
from heddle_knowledge.backup import file_rows, page_rows
from heddle_knowledge.backup.collection_rows import open_collection_rows, record
from heddle_knowledge.pages.page_place import open_pages
from heddle_knowledge.uploads.stores import FileStores, open_file_stores
from heddle_runtime.errors import InvalidRequestError
from heddle_runtime.storage.database import table_rows
from heddle_runtime.storage.database.address import SqliteAddress, parse
from heddle_runtime.storage.database.engine import open_database
from heddle_runtime.storage.database.upgrading import newest_revision
from sqlalchemy import inspect, text
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_devstack.backup import folder_rows, secret_rows
from heddle_devstack.backup.archive import Part
from heddle_devstack.backup.stores import Stores

SECRETS, WORKSPACES = "secrets", "workspaces"
_PATIENT = "SET LOCAL idle_in_transaction_session_timeout = 0"
IMAGES = "images/"
"""Before the keys of generated images in an object store."""


async def parts(stores: Stores, contents: Collection[str]) -> AsyncGenerator[Part]:
    """Yield everything; each part must be read to its end before the next one.

    Args:
        stores: Where it is.
        contents: What is wanted besides: `SECRETS`, `WORKSPACES`.
    """
    # Before the audit log: events that it gets meanwhile may be in both, and are recorded once.
    async with open_files(stores) as files:
        yield Part("knowledge/outbox", file_rows.rows(files.database, file_rows.OUTBOX))
        for listing in (_database(stores), _knowledge(stores, files)):
            async with aclosing(listing) as listed_parts:
                async for part in listed_parts:
                    yield part
    objects = stores.connector.object_store()
    images = (
        folder_rows.object_rows(objects, IMAGES)
        if objects
        else folder_rows.rows(stores.connector.images_dir)
    )
    yield Part("files/images", images)
    if WORKSPACES in contents:
        yield Part("files/workspaces", folder_rows.rows(stores.tools.workspace_dir))
    if SECRETS in contents:
        yield Part("settings/secrets", secret_rows.secrets(stores))
        yield Part("settings/files", secret_rows.files())


async def _database(stores: Stores) -> AsyncGenerator[Part]:
    url = stores.assistants.database
    address = parse(url)
    if isinstance(address, SqliteAddress) and not address.path.exists():
        return
    async with open_database(url) as database, database.reading() as connection:
        if await _has_tables(connection):
            if connection.dialect.name == "postgresql":
                # Who takes the archive from standard output may be slow.
                await connection.execute(text(_PATIENT))
            await _check_revision(connection, database.name)
            for table in SCHEMA.tables:
                yield Part(f"database/{table.name}", table_rows.rows(connection, table))
            yield Part("database/last_ids", table_rows.last_ids(connection, SCHEMA))


async def _has_tables(connection: AsyncConnection) -> bool:
    return await connection.run_sync(lambda it: inspect(it).has_table("alembic_version"))


async def _check_revision(connection: AsyncConnection, name: str) -> None:
    revision = await table_rows.revision(connection)
    if revision != newest_revision(SCHEMA):
        raise InvalidRequestError(
            f"The database {name} is at revision {revision}, and this Heddle is at "
            f"{newest_revision(SCHEMA)}. Use the command of the Heddle whose services run."
        )


def open_files(stores: Stores) -> AbstractAsyncContextManager[FileStores]:
    """Open what keeps files in the knowledge service."""
    place, knowledge = str(stores.collections.place), stores.knowledge
    return open_file_stores(place, knowledge.data_dir, knowledge.object_store())


async def _knowledge(stores: Stores, files: FileStores) -> AsyncGenerator[Part]:
    knowledge, place = stores.knowledge, str(stores.collections.place)
    folder, objects = knowledge.data_dir, knowledge.object_store()
    with tempfile.TemporaryFile() as attached:
        known: set[str] = set()
        if has_collections(place):
            rows = file_rows.rows(files.database, file_rows.ATTACHED)
            async with aclosing(_collections(stores, rows, attached, known)) as listed_parts:
                async for part in listed_parts:
                    yield part
        yield Part("knowledge/attached", _in_known(_lines(attached), known))
        yield Part("knowledge/uploads", file_rows.uploaded(files))
    async with open_pages(place, folder / "pages", objects) as pages:
        graphs = file_rows.rows(pages.database, file_rows.GRAPHS)
        yield Part("knowledge/graphs", _in_known(graphs, known))
        yield Part("knowledge/pages", page_rows.rows(pages))


async def _collections(
    stores: Stores, attached: AsyncIterator[dict[str, Any]], file: IO[bytes], known: set[str]
) -> AsyncGenerator[Part]:
    """Yield the collections. Their files are read before their passages, and yielded after them.

    Args:
        stores: Where they are.
        attached: The files of collections.
        file: Where these are stored until then.
        known: Gets the ids of the collections that were not deleted meanwhile.
    """
    storage = stores.collections
    async with open_collection_rows(str(storage.place), storage.options) as collections:
        listed = await collections.all()
        async for row in attached:
            file.write(msgspec.json.encode(row) + b"\n")
        file.seek(0)
        for collection in listed:
            name = f"knowledge/passages/{collection.id}"
            part = Part(name, collections.passages(collection))
            yield part
            if not part.gone:
                known.add(collection.id)
        there = [each for each in listed if each.id in known]
        yield Part("knowledge/collections", _each(map(record, there)))


def has_collections(place: str) -> bool:
    """Return whether there may be collections, without making a folder for them."""
    return "://" in place or (Path(place) / "collections.lance").exists()


async def _lines(file: IO[bytes]) -> AsyncIterator[dict[str, Any]]:
    for line in file:
        yield msgspec.json.decode(line)


async def _in_known(
    rows: AsyncIterator[dict[str, Any]], known: Collection[str]
) -> AsyncIterator[dict[str, Any]]:
    async for row in rows:
        if row["collection"] in known:
            yield row


async def _each(rows: Iterable[dict[str, Any]]) -> AsyncIterator[dict[str, Any]]:
    for row in rows:
        yield row
