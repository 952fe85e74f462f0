"""A file that is deleted leaves every collection, whatever happens at the same time."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from heddle.knowledge.v1 import files_pb2 as pb
from heddle_knowledge.collection.access import Person
from heddle_knowledge.uploads.records import Attachment
from heddle_knowledge.uploads.store import person_key
from heddle_knowledge.uploads.stores import open_file_stores
from heddle_runtime.errors import NotFoundError
from knowledge.uploads.desk import Desk, refusal, serving

ANA = person_key(Person("ana@uni.example", "uni"))
COLLECTIONS = ("looms", "yarns")


@pytest.fixture
async def file(desk: Desk) -> str:
    """A file of Ana's in two collections."""
    identifier = await desk.upload("ana")
    for collection in COLLECTIONS:
        await desk.collection("ana", collection)
    await attach(desk, identifier)
    return identifier


async def attach(desk: Desk, identifier: str) -> None:
    for collection in COLLECTIONS:
        await desk("ana", "AttachFile", collection=collection, file_id=identifier)
        done = await desk.done(collection, identifier)
        assert done.status == pb.ATTACHMENT_STATUS_COMPLETED


async def left(desk: Desk, identifier: str) -> Sequence[str]:
    """Return where a file, its passages or its document still are."""
    places = []
    for collection in COLLECTIONS:
        if await desk.passages(collection):
            places.append(f"passages of {collection}")
        for method, field in (("ListAttachedFiles", "files"), ("ListDocuments", "documents")):
            if getattr(await desk("ana", method, collection=collection), field):
                places.append(f"{field} of {collection}")
        fields = {"id": identifier, "collection": collection}
        assert isinstance(await refusal(desk, "ana", "GetFileContent", **fields), NotFoundError)
    assert isinstance(await refusal(desk, "ana", "GetFileContent", id=identifier), NotFoundError)
    return places


async def test_a_deleted_file_leaves_all_collections(desk: Desk, file: str) -> None:
    await desk("ana", "DeleteFile", id=file)
    assert await left(desk, file) == []
    fields = {"collection": "looms", "file_id": file}
    assert isinstance(await refusal(desk, "ana", "AttachFile", **fields), NotFoundError)


async def test_a_file_of_a_deleted_collection_can_be_deleted(desk: Desk, file: str) -> None:
    await desk("ana", "DeleteCollection", name="looms")
    await desk("ana", "DeleteFile", id=file)
    assert not await desk.passages("yarns")


async def test_a_file_that_is_deleted_while_it_is_ingested_does_not_come_back(desk: Desk) -> None:
    fields = await desk.held_up()
    await desk.collection("ana", "yarns")
    await desk("ana", "DeleteFile", id=fields["file_id"])
    desk.embedder.may.set()
    assert await left(desk, fields["file_id"]) == []


async def test_a_file_that_is_attached_while_it_is_deleted_is_in_no_collection(
    desk: Desk, file: str
) -> None:
    calls = [
        desk("ana", method, collection=collection, **fields)
        for collection in COLLECTIONS
        for method, fields in (
            ("AttachFile", {"file_id": file}),
            ("CreateFileBatch", {"files": [pb.BatchedFile(file_id=file)]}),
            ("UpdateAttachedFile", {"file_id": file}),
        )
    ]
    calls.insert(3, desk("ana", "DeleteFile", id=file))
    await asyncio.gather(*calls, return_exceptions=True)
    assert await left(desk, file) == []


async def test_a_deletion_that_a_crash_broke_off_is_completed(tmp_path: Path) -> None:
    fields = {
        "filename": "shed.md",
        "purpose": "assistants",
        "data": b"Threads.",
        "upload_key": "k",
    }
    async with serving(tmp_path) as desk, open_file_stores("", tmp_path) as stores:
        for collection in COLLECTIONS:
            await desk.collection("ana", collection)
        files = [await desk.upload("ana"), (await desk("ana", "CreateFile", **fields)).file.id]
        attached: list[Attachment] = []
        for each in files:
            await attach(desk, each)
            attached += await stores.attachments.everywhere(each)
            await stores.uploads.mark_deleted(ANA, each)  # the process died after this
        await desk("ana", "DeleteCollection", name="looms")
    abandoned = "0" * 32  # as of a collection whose deletion has broken off
    async with (
        open_file_stores("", tmp_path) as stores,
        stores.attachments.locked(abandoned, attached[0].file_id),
    ):
        await stores.attachments.keep(msgspec.structs.replace(attached[0], collection=abandoned))
    async with serving(tmp_path) as desk, open_file_stores("", tmp_path) as stores:
        again = (await desk("ana", "CreateFile", **fields)).file.id
        assert again == files[1]
        async with asyncio.timeout(20):
            while await stores.uploads.deleted() or await stores.attachments.of(abandoned):
                await asyncio.sleep(0.02)
        assert not await desk.passages("yarns")
        assert (await desk("ana", "GetFileContent", id=again)).data == b"Threads."


@pytest.mark.exhaustive
async def test_a_repeated_deletion_completes_the_first_one(
    desk: Desk, file: str, tmp_path: Path
) -> None:
    async with open_file_stores("", tmp_path) as stores:
        await stores.uploads.mark_deleted(ANA, file)
    await desk("ana", "DeleteFile", id=file)
    assert await left(desk, file) == []


@pytest.mark.exhaustive
async def test_a_detachment_that_a_crash_broke_off_is_completed(tmp_path: Path) -> None:
    async with serving(tmp_path) as desk, open_file_stores("", tmp_path) as stores:
        collection = await desk.collection("ana")
        gone, again = [await desk.upload("ana", text=f"Threads {n}.") for n in range(2)]
        for file in (gone, again):
            await desk("ana", "AttachFile", collection="looms", file_id=file)
            await desk.done("looms", file)
            # The process died after this.
            await stores.attachments.mark_detached(collection.removeprefix("vs_"), file)
        assert not (await desk("ana", "ListAttachedFiles", collection="looms")).files
        namesake = await desk.upload("ana", text="Threads of another file.")
        for file in (again, namesake):
            await desk("ana", "AttachFile", collection="looms", file_id=file)
            await desk.done("looms", file)
    async with serving(tmp_path) as desk, open_file_stores("", tmp_path) as stores:
        async with asyncio.timeout(20):
            while await stores.attachments.detached():
                await asyncio.sleep(0.02)
        texts = {each.text for each in await desk.passages("looms")}
        assert texts == {"Threads 1.", "Threads of another file."}
