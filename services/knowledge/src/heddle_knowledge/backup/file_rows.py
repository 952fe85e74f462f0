"""Uploaded files, files of collections, graphs, and events for the audit log."""

import base64
from collections.abc import AsyncIterable, AsyncIterator, Sequence
from typing import Any

from heddle_runtime.errors import StorageError
from heddle_runtime.storage.database import table_rows
from heddle_runtime.storage.database.identities import continue_after_explicit_ids
from heddle_runtime.storage.database.table_rows import Row
from heddle_runtime.storage.failures import storage_error
from sqlalchemy import Table, delete, select

from heddle_knowledge.database.opening import KnowledgeDatabase
from heddle_knowledge.database.schema import (
    attached_files,
    audit_outbox,
    audit_recorder,
    deleted_uploads,
    file_batches,
    graph_parts,
    leases,
    uploads,
)
from heddle_knowledge.uploads.stores import FileStores

OUTBOX = (audit_recorder, audit_outbox)
ATTACHED = (attached_files, file_batches)
GRAPHS = (graph_parts,)


async def rows(
    database: KnowledgeDatabase, tables: Sequence[Table]
) -> AsyncIterator[dict[str, Any]]:
    """Yield the rows of tables as of one moment, without files that are being detached."""
    if not database.exists():
        return
    async with database.reading() as connection:
        for table in tables:
            async for row in table_rows.rows(connection, table):
                if row.get("state") != "detached":
                    yield {"table": str(table.name), **row}


async def uploaded(stores: FileStores) -> AsyncIterator[dict[str, Any]]:
    """Yield the files of all people with their bytes."""
    if not stores.database.exists():
        return
    for person, identifier in sorted(await stores.uploads.keys()):
        query = select(uploads).where(uploads.c.person == person, uploads.c.id == identifier)
        async with stores.database.reading() as connection:
            row = (await connection.execute(query)).mappings().first()
        if row is None:  # deleted meanwhile
            continue
        content = row["content"]
        if row["object_key"] is not None:
            content = await stores.uploads.objects.get(row["object_key"])
        if content is not None:
            yield {**row, "content": content, "object_key": None}
        elif (person, identifier) in await stores.uploads.keys():
            raise StorageError(
                "The bytes of an uploaded file are not in the object store. Check "
                "HEDDLE_OBJECTS_URL."
            )


async def add(
    database: KnowledgeDatabase, tables: Sequence[Table], incoming: AsyncIterable[Row]
) -> None:
    """Add rows as `rows` yields them."""
    async with database.writing() as connection:
        async for part in _grouped(incoming):
            (table,) = (each for each in tables if each.name == part[0]["table"])
            added = [{column.name: row[column.name] for column in table.columns} for row in part]
            if refused := await table_rows.add(connection, table, _each(added)):
                raise storage_error(f"The database refuses rows: {refused[0]}")
        for table in tables:
            if "id" in table.c and table.c.id.identity:
                await continue_after_explicit_ids(connection, table)


async def add_uploads(stores: FileStores, incoming: AsyncIterable[Row]) -> None:
    """Add files of people. The objects of former ones are swept by the service."""
    async for row in incoming:
        place = f"{row['person']}/{row['id']}"
        key = await stores.uploads.objects.put(place, base64.b64decode(row["content"]))
        content = row["content"] if key is None else None
        changed = {"table": uploads.name, **row, "content": content, "object_key": key}
        await add(stores.database, (uploads,), _each([changed]))


async def clear(stores: FileStores) -> None:
    """Remove all. Objects without a row are swept by the service."""
    if stores.database.exists():
        async with stores.database.writing() as connection:
            for table in (*OUTBOX, *ATTACHED, uploads, deleted_uploads, leases):
                await connection.execute(delete(table))


async def _grouped(incoming: AsyncIterable[Row]) -> AsyncIterator[list[Row]]:
    part: list[Row] = []
    async for row in incoming:
        if part and (row["table"] != part[0]["table"] or len(part) == table_rows.PART):
            yield part
            part = []
        part.append(row)
    if part:
        yield part


async def _each(listed: Sequence[Row]) -> AsyncIterator[Row]:
    for row in listed:
        yield row
