"""Objects that a crash leaves between the write of an object and that of its row."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import timedelta

import pytest
from heddle.knowledge.v1 import files_pb2 as pb
from heddle_knowledge.uploads.database_uploads import DatabaseUploads
from heddle_knowledge.uploads.files_database import FilesDatabase
from heddle_knowledge.uploads.records import new_id
from heddle_runtime.object_store import ObjectStore
from s3_server import BUCKET, S3Server

ANN = "ann"
PREFIX = "leftovers"


@pytest.fixture
def objects(object_server: S3Server) -> ObjectStore:
    return ObjectStore(f"s3://{BUCKET}/{PREFIX}", object_server.options)


@pytest.fixture
async def uploads(database: str, objects: ObjectStore) -> AsyncIterator[DatabaseUploads]:
    async with aclosing(FilesDatabase(database)) as opened:
        yield DatabaseUploads(opened, objects)


async def test_only_old_objects_without_a_row_are_removed(
    uploads: DatabaseUploads, objects: ObjectStore, object_server: S3Server
) -> None:
    file = pb.File(id=new_id(), filename="shed.md", size=8)
    await asyncio.to_thread(uploads.keep, ANN, file, b"Threads.")
    (stored,) = object_server.keys(PREFIX)
    await asyncio.to_thread(objects.put, f"uploads/{ANN}/{new_id()}-broken", b"Off.")

    await asyncio.to_thread(uploads.sweep)
    assert len(object_server.keys(PREFIX)) == 2
    await asyncio.to_thread(uploads.sweep, timedelta(seconds=-10))
    assert object_server.keys(PREFIX) == [stored]
    assert await asyncio.to_thread(uploads.content, ANN, file.id) == b"Threads."
