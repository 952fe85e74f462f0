"""`heddle_knowledge.uploads.ingestion_queue`: what waits, and what is given up."""

from pathlib import Path
from typing import Any

import pytest
from heddle.knowledge.v1 import files_pb2 as pb
from heddle_knowledge.uploads.ingestion_queue import QueueLimits
from heddle_knowledge.uploads.stores import open_file_stores
from heddle_runtime.errors import ResourceExhaustedError
from knowledge.uploads.desk import Desk, refusal, serving
from runtime.examples import sampled


async def queued(desk: Desk, count: int) -> list[dict[str, Any]]:
    """Leave so many files of Ana's on their way."""
    await desk.collection("ana")
    desk.embedder.may.clear()
    files = [await desk.upload("ana", f"{number}.md") for number in range(count)]
    fields = [{"collection": "looms", "file_id": each} for each in files]
    for each in fields[:-1]:
        await desk("ana", "AttachFile", **each)
    return fields


@pytest.mark.parametrize(
    "limits", [QueueLimits(files=2), QueueLimits(files_per_organization=2)], ids=["all", "own"]
)
@pytest.mark.parametrize(("count", "accepted"), sampled([(2, True), (3, False), (1, True)], 2))
async def test_a_full_queue_refuses_further_files_until_some_are_done(
    tmp_path: Path, limits: QueueLimits, count: int, accepted: bool
) -> None:
    async with serving(tmp_path, limits) as desk:
        *first, last = await queued(desk, count)
        if accepted:
            await desk("ana", "AttachFile", **last)
        else:
            error = await refusal(desk, "ana", "AttachFile", **last)
            assert isinstance(error, ResourceExhaustedError)
            assert error.retry_after
        desk.embedder.may.set()
        for each in first:
            await desk.done("looms", each["file_id"])
        await desk("ana", "AttachFile", **last)
        done = await desk.done("looms", last["file_id"])
        assert done.status == pb.ATTACHMENT_STATUS_COMPLETED


async def test_a_batch_that_does_not_fit_into_the_queue_is_refused_as_a_whole(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path, QueueLimits(files=2)) as desk:
        await desk.collection("ana")
        batch = [pb.BatchedFile(file_id=await desk.upload("ana")) for _ in range(3)]
        error = await refusal(desk, "ana", "CreateFileBatch", collection="looms", files=batch)
        assert isinstance(error, ResourceExhaustedError)
        assert not (await desk("ana", "ListAttachedFiles", collection="looms")).files


@pytest.mark.parametrize(("attempts", "accepted"), sampled([(2, False), (1, True)], 1))
async def test_a_file_during_which_the_service_died_twice_fails(
    tmp_path: Path, attempts: int, accepted: bool
) -> None:
    async with serving(tmp_path) as desk:
        fields = await desk.held_up()
        collection = (await desk("ana", "GetCollection", name="looms")).collection.id
    # As killed processes leave it.
    key = collection.removeprefix("vs_"), fields["file_id"]
    async with open_file_stores("", tmp_path) as stores:
        assert await stores.attachments.attempts(*key) == 0
        await stores.attachments.note_attempts(*key, attempts)

    async with serving(tmp_path) as desk, open_file_stores("", tmp_path) as stores:
        done = await desk.done("looms", fields["file_id"])

        assert (done.status == pb.ATTACHMENT_STATUS_COMPLETED) is accepted
        assert ("stopped twice" in done.error) is not accepted
        assert await stores.attachments.attempts(*key) == 0
        await desk("ana", "AttachFile", **fields)
        done = await desk.done("looms", fields["file_id"])
        assert done.status == pb.ATTACHMENT_STATUS_COMPLETED
