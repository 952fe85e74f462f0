"""`heddle.knowledge.v1.FileService`: the way of files into collections."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.struct_pb2 import Struct
from heddle.knowledge.v1 import files_pb2 as pb
from heddle.knowledge.v1 import knowledge_pb2
from heddle_knowledge.uploads.stores import open_file_stores
from heddle_runtime.contract.struct_codec import from_struct, to_struct
from heddle_runtime.errors import InvalidRequestError, NotFoundError, PermissionDeniedError
from knowledge.uploads.desk import Desk, refusal, serving


async def test_a_file_comes_into_a_collection_with_its_attributes(desk: Desk) -> None:
    collection, made = await desk.collection("ana"), await desk.upload("ana")
    noted = {"course": "Weaving", "year": 2026, "open": True, "weight": 0.5}
    begun = await desk(
        "ana", "AttachFile", collection="looms", file_id=made, attributes=to_struct(noted)
    )
    assert begun.file.collection_id == collection
    done = await desk.done("looms", made)
    assert (done.status, done.error) == (pb.ATTACHMENT_STATUS_COMPLETED, "")
    assert from_struct(done.attributes) == noted
    [passage] = await desk.passages("looms")
    assert (passage.text, passage.document) == ("Threads.", "shed.md")
    assert passage.metadata == {
        "file_id": made,
        "course": "Weaving",
        "year": "2026",
        "open": "true",
        "weight": "0.5",
    }
    changed = {"collection": "looms", "file_id": made, "attributes": to_struct({"year": 2027})}
    await desk("ana", "UpdateAttachedFile", **changed)
    assert from_struct((await desk.done("looms", made)).attributes) == {"year": 2027}
    [passage] = await desk.passages("looms")
    assert passage.metadata == {"file_id": made, "year": "2027"}


@pytest.mark.exhaustive
async def test_two_files_of_one_name_are_two_documents(desk: Desk) -> None:
    await desk.collection("ana")
    texts = ("Threads one.", "Threads two.")
    made = [await desk.upload("ana", "shed.md", text) for text in texts]
    for each in (*made, made[0]):  # attaching again begins anew
        await desk("ana", "AttachFile", collection="looms", file_id=each)
    documents = {(await desk.done("looms", each)).document for each in made}
    assert documents == {"shed.md", f"{made[1]}/shed.md"}
    assert sorted(each.text for each in await desk.passages("looms")) == sorted(texts)
    await desk("ana", "DetachFile", collection="looms", file_id=made[0])
    assert [each.text for each in await desk.passages("looms")] == ["Threads two."]
    gone = await refusal(desk, "ana", "GetAttachedFile", collection="looms", file_id=made[0])
    assert isinstance(gone, NotFoundError)
    listed = await desk("ana", "ListAttachedFiles", collection="looms")
    assert [each.file_id for each in listed.files] == made[1:]


@pytest.mark.exhaustive
async def test_documents_that_are_no_files_are_listed_with_them(desk: Desk) -> None:
    collection = await desk.collection("ana")
    file_id = await desk.upload("ana", "shed.md", "Threads.")
    await desk("ana", "AttachFile", collection="looms", file_id=file_id)
    await desk.done("looms", file_id)
    text = b"Warps are tied."
    await desk.ingest("looms", "help/warp.md", text, metadata={"course": "Weaving"})
    listed = await desk("ana", "ListAttachedFiles", collection="looms", order_by=pb.FILE_ORDER_NAME)
    document, file = listed.files
    assert (file.file_id, document.filename) == (file_id, "help/warp.md")
    assert document.file_id.startswith("doc_")
    assert (document.collection_id, document.size) == (collection, len(text))
    assert document.status == pb.ATTACHMENT_STATUS_COMPLETED
    assert from_struct(document.attributes) == {"course": "Weaving"}
    assert (listed.counts.completed, listed.matching_count) == (2, 2)
    matching = await desk("ana", "ListAttachedFiles", collection="looms", text="WARP")
    assert [each.file_id for each in matching.files] == [document.file_id]
    failed = pb.ATTACHMENT_STATUS_FAILED
    assert not (await desk("ana", "ListAttachedFiles", collection="looms", status=failed)).files


async def test_a_file_that_cannot_be_read_fails_with_the_reason(desk: Desk) -> None:
    await desk.collection("ana")
    made = await desk.upload("ana", "shed.pdf", "no PDF")
    await desk("ana", "AttachFile", collection="looms", file_id=made)
    done = await desk.done("looms", made)
    assert done.status == pb.ATTACHMENT_STATUS_FAILED
    assert done.unreadable
    assert "PDF" in done.error


async def test_what_a_stop_interrupts_goes_on_after_it(tmp_path: Path) -> None:
    async with serving(tmp_path) as desk:
        fields = await desk.held_up()
        busy = await desk("ana", "GetAttachedFile", **fields)
        assert busy.file.status == pb.ATTACHMENT_STATUS_IN_PROGRESS
        assert (await refusal(desk, "ana", "UpdateAttachedFile", **fields)).reason == "CONFLICT"
    async with serving(tmp_path) as desk:
        done = await desk.done("looms", fields["file_id"])
        assert done.status == pb.ATTACHMENT_STATUS_COMPLETED
        assert [each.text for each in await desk.passages("looms")] == ["Threads."]


@pytest.mark.exhaustive
async def test_attaching_again_counts_however_far_the_first_time_is(desk: Desk) -> None:
    fields = await desk.held_up()
    await asyncio.gather(
        *(desk("ana", "AttachFile", **fields, attributes=to_struct({"n": n})) for n in range(9))
    )
    last = await desk("ana", "AttachFile", **fields, attributes=to_struct({"n": "last"}))
    desk.embedder.may.set()
    done = await desk.done("looms", fields["file_id"])
    assert done.status == pb.ATTACHMENT_STATUS_COMPLETED
    assert done.attributes == last.file.attributes
    [passage] = await desk.passages("looms")
    assert passage.metadata["n"] == "last"


async def test_a_file_can_be_taken_out_while_it_is_on_its_way(desk: Desk) -> None:
    fields = await desk.held_up()
    await desk("ana", "DetachFile", **fields)
    desk.embedder.may.set()
    assert await desk.passages("looms") == []
    assert not (await desk("ana", "ListAttachedFiles", collection="looms")).files


async def test_a_file_on_its_way_can_be_cancelled(desk: Desk) -> None:
    fields = await desk.held_up()
    busy = (await desk("ana", "GetAttachedFile", **fields)).file
    assert busy.progress.stage == "embedding"
    cancelled = (await desk("ana", "CancelAttachedFile", **fields)).file
    assert cancelled.status == pb.ATTACHMENT_STATUS_CANCELLED
    assert not cancelled.HasField("progress")
    desk.embedder.may.set()
    assert await desk.passages("looms") == []
    assert (await desk("ana", "CancelAttachedFile", **fields)).file == cancelled
    await desk("ana", "AttachFile", **fields)
    done = await desk.done("looms", fields["file_id"])
    assert done.status == pb.ATTACHMENT_STATUS_COMPLETED
    assert (await desk("ana", "CancelAttachedFile", **fields)).file == done


async def test_the_content_of_a_file_is_for_readers_of_its_collection(desk: Desk) -> None:
    await desk.collection("ana")
    identifier = await desk.upload("ana", "shed.md", "Threads.")
    fields = {"id": identifier, "collection": "looms"}
    assert isinstance(await refusal(desk, "ana", "GetFileContent", **fields), NotFoundError)
    await desk("ana", "AttachFile", collection="looms", file_id=identifier)
    assert (await desk("ana", "GetFileContent", **fields)).data == b"Threads."
    assert isinstance(await refusal(desk, "ben", "GetFileContent", **fields), NotFoundError)
    await desk("ana", "DeleteFile", id=identifier)
    assert isinstance(await refusal(desk, "ana", "GetFileContent", **fields), NotFoundError)


@pytest.mark.exhaustive
async def test_noting_something_about_a_file_does_not_bring_it_back(
    desk: Desk, tmp_path: Path
) -> None:
    collection, made = await desk.collection("ana"), await desk.upload("ana")
    fields = {"collection": "looms", "file_id": made}
    await desk("ana", "AttachFile", **fields)
    await desk.done("looms", made)
    key = collection.removeprefix("vs_"), made
    async with (  # as another process that takes it out
        open_file_stores("", tmp_path) as stores,
        stores.attachments.locked(*key),
    ):
        noting = asyncio.create_task(
            refusal(desk, "ana", "UpdateAttachedFile", **fields, attributes=to_struct({"n": 1}))
        )
        await asyncio.sleep(0.2)
        await stores.attachments.forget(*key)

    assert isinstance(await noting, NotFoundError)
    assert not (await desk("ana", "ListAttachedFiles", collection="looms")).files


async def test_a_file_that_another_process_works_on_keeps_no_file_out_of_other_collections(
    desk: Desk, tmp_path: Path
) -> None:
    collection, made = await desk.collection("ana"), await desk.upload("ana")
    await desk.collection("ben", "yarns")
    other = await desk.upload("ben")
    fields = {"collection": "looms", "file_id": made}
    await desk("ana", "AttachFile", **fields)
    await desk.done("looms", made)
    async with (
        open_file_stores("", tmp_path) as stores,
        stores.attachments.locked(collection.removeprefix("vs_"), made),
    ):
        waiting = asyncio.create_task(desk("ana", "AttachFile", **fields))
        await asyncio.sleep(0.2)
        async with asyncio.timeout(10):
            await desk("ben", "AttachFile", collection="yarns", file_id=other)
        assert not waiting.done()
    await waiting


@pytest.mark.exhaustive
async def test_a_collection_that_is_made_again_has_no_files(desk: Desk, tmp_path: Path) -> None:
    await desk.collection("ana")
    made = await desk.upload("ana")
    await desk("ana", "AttachFile", collection="looms", file_id=made)
    await desk.done("looms", made)
    await desk("ana", "DeleteCollection", name="looms")
    async with open_file_stores("", tmp_path) as stores:
        assert not await stores.attachments.collections()
    await desk.collection("ana")
    assert not (await desk("ana", "ListAttachedFiles", collection="looms")).files


async def test_readers_of_a_collection_see_its_files_and_change_none(desk: Desk) -> None:
    await desk.collection("ana", sharing=knowledge_pb2.SHARING_ORGANIZATION)
    made, other = await desk.upload("ana"), await desk.upload("ben")
    fields = {"collection": "looms", "file_id": made}
    await desk("ana", "AttachFile", **fields)
    await desk.done("looms", made)
    assert len((await desk("ben", "ListAttachedFiles", collection="looms")).files) == 1
    await desk("ben", "GetAttachedFile", **fields)
    attempts = {"AttachFile": other, "UpdateAttachedFile": made, "DetachFile": made}
    for method, identifier in attempts.items():
        asked = {"collection": "looms", "file_id": identifier}
        assert isinstance(await refusal(desk, "ben", method, **asked), PermissionDeniedError)
        assert isinstance(await refusal(desk, "twin", method, **asked), NotFoundError)
    assert isinstance(await refusal(desk, "twin", "GetAttachedFile", **fields), NotFoundError)


@pytest.mark.parametrize(
    "noted", [{"file_id": "x"}, {"a": [1]}, {"a": None}, {"a": "x" * 513}, {"": 1}]
)
async def test_attributes_that_cannot_be_are_refused(desk: Desk, noted: dict[str, Any]) -> None:
    await desk.collection("ana")
    made = await desk.upload("ana")
    fields = {"collection": "looms", "file_id": made, "attributes": to_struct(noted)}
    assert isinstance(await refusal(desk, "ana", "AttachFile", **fields), InvalidRequestError)


async def test_an_attribute_that_is_no_number_is_refused(desk: Desk) -> None:
    await desk.collection("ana")
    fields = {"collection": "looms", "file_id": await desk.upload("ana")}
    noted = Struct()
    noted.update({"a": float("nan")})
    refused = await refusal(desk, "ana", "AttachFile", **fields, attributes=noted)
    assert isinstance(refused, InvalidRequestError)
    assert [each.field for each in refused.violations] == ["attributes"]
