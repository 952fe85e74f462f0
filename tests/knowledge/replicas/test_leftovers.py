"""Objects that a crash leaves between the write of an object and that of its row."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from heddle.knowledge.v1 import files_pb2 as pb
from heddle_knowledge.uploads.records import new_id
from heddle_knowledge.uploads.store import Uploads
from heddle_knowledge.uploads.stores import open_file_stores
from heddle_runtime.storage.object_store import ObjectStore
from s3_server import BUCKET, S3Server

ANN = "ann"
PREFIX = "leftovers"


@pytest.fixture
def objects(object_server: S3Server) -> ObjectStore:
    return ObjectStore(f"s3://{BUCKET}/{PREFIX}", object_server.options)


@pytest.fixture
async def uploads(database: str, objects: ObjectStore) -> AsyncIterator[Uploads]:
    async with open_file_stores(database, Path(), objects) as stores:
        yield stores.uploads


@pytest.mark.exhaustive
async def test_only_old_objects_without_a_row_are_removed(
    uploads: Uploads, objects: ObjectStore, object_server: S3Server
) -> None:
    file = pb.File(id=new_id(), filename="shed.md", size=8)
    await uploads.keep(ANN, file, b"Threads.")
    (stored,) = object_server.keys(PREFIX)
    await asyncio.to_thread(objects.put, f"uploads/{ANN}/{new_id()}-broken", b"Off.")

    await uploads.objects.sweep()
    assert len(object_server.keys(PREFIX)) == 2
    await uploads.objects.sweep(timedelta(seconds=-10))
    assert object_server.keys(PREFIX) == [stored]
    assert await uploads.content(ANN, file.id) == b"Threads."
