"""`heddle.knowledge.v1.FileService`: many files at once, on their way into a collection."""

from pathlib import Path
from typing import Any

import pytest
from heddle.knowledge.v1 import files_pb2 as pb
from heddle.knowledge.v1 import knowledge_pb2
from heddle_runtime.contract.struct_codec import to_struct
from heddle_runtime.errors import InvalidRequestError, NotFoundError, PermissionDeniedError
from knowledge.uploads.desk import Desk, refusal, serving


async def batch_of(desk: Desk, *files: str) -> str:
    asked = [pb.BatchedFile(file_id=each) for each in files]
    made = await desk("ana", "CreateFileBatch", collection="looms", files=asked)
    return str(made.batch.id)


async def batch(desk: Desk, identifier: str, method: str = "GetFileBatch") -> pb.FileBatch:
    told = await desk("ana", method, collection="looms", batch_id=identifier)
    assert isinstance(told.batch, pb.FileBatch)
    return told.batch


async def test_a_batch_goes_on_after_a_stop_and_its_files_keep_their_order(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path) as desk:
        await desk.collection("ana")
        files = [await desk.upload("ana", f"{n}.md", f"Threads {n}.") for n in range(5)]
        desk.embedder.may.clear()
        made = await batch_of(desk, *files)
        await desk.embedder.has_begun.wait()
        assert (await batch(desk, made)).status == pb.FILE_BATCH_STATUS_IN_PROGRESS
    async with serving(tmp_path) as desk:
        for each in files:
            await desk.done("looms", each)
        told = await batch(desk, made)
        assert (told.status, told.completed_count) == (pb.FILE_BATCH_STATUS_COMPLETED, 5)
        assert len(await desk.passages("looms")) == 5
        await desk("ana", "DetachFile", collection="looms", file_id=files[0])
        found, token = [], ""
        while True:
            fields = {"collection": "looms", "batch_id": made, "page_size": 3, "page_token": token}
            page = await desk("ana", "ListFileBatchFiles", **fields)
            found += [each.file_id for each in page.files]
            if not (token := page.next_page_token):
                break
        assert found == files[1:]
        assert (await batch(desk, made)).completed_count == 4


@pytest.mark.exhaustive
async def test_a_cancelled_batch_leaves_what_is_in_and_brings_in_no_more(desk: Desk) -> None:
    await desk.collection("ana")
    files = [await desk.upload("ana", f"{n}.md", f"Threads {n}.") for n in range(4)]
    await desk("ana", "AttachFile", collection="looms", file_id=files[0])
    await desk.done("looms", files[0])
    desk.embedder.may.clear()
    desk.embedder.has_begun.clear()
    # The first file is there already, with the same content and no attributes.
    made = await batch_of(desk, *files)
    await desk.embedder.has_begun.wait()
    told = await batch(desk, made, "CancelFileBatch")
    assert told.status == pb.FILE_BATCH_STATUS_CANCELLED
    assert (told.in_progress_count, told.completed_count, told.cancelled_count) == (0, 1, 3)
    desk.embedder.may.set()
    assert await batch(desk, made) == told
    assert [each.text for each in await desk.passages("looms")] == ["Threads 0."]
    again = await desk.done("looms", files[3])
    assert again.status == pb.ATTACHMENT_STATUS_CANCELLED
    await desk("ana", "AttachFile", collection="looms", file_id=files[3])
    assert (await desk.done("looms", files[3])).status == pb.ATTACHMENT_STATUS_COMPLETED


async def test_of_a_batch_with_a_file_that_is_not_there_nothing_is_brought_in(desk: Desk) -> None:
    await desk.collection("ana")
    files = [await desk.upload("ana"), await desk.upload("ben")]
    asked = [pb.BatchedFile(file_id=each) for each in files]
    refused = await refusal(desk, "ana", "CreateFileBatch", collection="looms", files=asked)
    assert isinstance(refused, NotFoundError)
    assert not (await desk("ana", "ListAttachedFiles", collection="looms")).files


async def test_a_batch_is_changed_by_who_may_change_the_collection_and_seen_by_who_may_read_it(
    desk: Desk,
) -> None:
    await desk.collection("ana", sharing=knowledge_pb2.SHARING_ORGANIZATION)
    files = await desk.upload("ana")
    fields = {"collection": "looms", "batch_id": await batch_of(desk, files)}
    assert (await desk("ben", "GetFileBatch", **fields)).batch.id == fields["batch_id"]
    assert isinstance(
        await refusal(desk, "ben", "CancelFileBatch", **fields), PermissionDeniedError
    )
    for method in ("GetFileBatch", "CancelFileBatch", "ListFileBatchFiles"):
        assert isinstance(await refusal(desk, "twin", method, **fields), NotFoundError)
        for other in ("vsfb_" + "0" * 32, "../x"):
            missing = {**fields, "batch_id": other}
            assert isinstance(await refusal(desk, "ana", method, **missing), NotFoundError)


@pytest.mark.parametrize(
    ("files", "path"),
    [
        ([], "files"),
        ([{"file_id": "file-a"}, {"file_id": "file-a"}], "files[1].file_id"),
        (
            [{"file_id": "file-a", "attributes": to_struct({"file_id": 1})}],
            "files[0].attributes.file_id",
        ),
    ],
)
async def test_a_batch_that_cannot_be_is_refused(
    desk: Desk, files: list[dict[str, Any]], path: str
) -> None:
    refused = await refusal(desk, "ana", "CreateFileBatch", collection="looms", files=files)
    assert isinstance(refused, InvalidRequestError)
    assert refused.violations[0].field == path
