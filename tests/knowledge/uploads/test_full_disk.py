"""A full disk: typed errors, and files that come in once there is room."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from full_disk import SmallDisk, needs_root, small_disk
from heddle.knowledge.v1 import files_pb2 as pb
from heddle_runtime.errors import HeddleError, StorageError
from knowledge.uploads.desk import Desk, refusal, serving

pytestmark = needs_root


@pytest.fixture
async def disk(tmp_path: Path) -> AsyncIterator[SmallDisk]:
    with small_disk(tmp_path / "disk") as mounted:
        yield mounted


@pytest.fixture
async def desk(disk: SmallDisk) -> AsyncIterator[Desk]:
    async with serving(disk.folder) as running_desk:
        yield running_desk


async def test_an_upload_to_a_full_disk_is_a_typed_error_without_a_traceback(
    desk: Desk, disk: SmallDisk, capfd: pytest.CaptureFixture[str]
) -> None:
    disk.fill()
    error = await refusal(
        desk, "ana", "CreateFile", filename="a.md", purpose="assistants", data=b"x" * 100_000
    )

    assert (type(error), error.retry_after) == (StorageError, 30)
    assert "disk" not in error.message
    assert "Traceback" not in "".join(capfd.readouterr())

    disk.free()
    assert await desk.upload("ana")


async def test_a_file_that_cannot_be_stored_comes_in_when_there_is_room(
    desk: Desk, disk: SmallDisk, capfd: pytest.CaptureFixture[str]
) -> None:
    fields = await desk.held_up()
    disk.fill()
    desk.embedder.may.set()

    logged = ""
    async with asyncio.timeout(20):
        while "state of an attached file not stored" not in logged:
            await asyncio.sleep(0.1)
            logged += "".join(capfd.readouterr())
    assert "Traceback" not in logged

    disk.free()
    done = await desk.done(fields["collection"], fields["file_id"])
    assert done.status == pb.ATTACHMENT_STATUS_COMPLETED


async def test_every_call_that_writes_to_a_full_disk_ends_typed(
    desk: Desk, disk: SmallDisk, capfd: pytest.CaptureFixture[str]
) -> None:
    await desk.collection("ana")
    file = await desk.upload("ana")
    disk.fill()

    for method, fields in (
        ("CreateCollection", {"collection": {"name": "new"}}),
        ("AttachFile", {"collection": "looms", "file_id": file}),
    ):
        error = await _failure(desk, method, fields)
        assert error is None or isinstance(error, StorageError), (method, error)
    assert "Traceback" not in "".join(capfd.readouterr())


async def _failure(desk: Desk, method: str, fields: dict[str, Any]) -> HeddleError | None:
    try:
        await desk("ana", method, **fields)
    except HeddleError as error:
        return error
    return None
