"""`heddle.knowledge.v1.FileService`: uploads."""

import os
import resource
from pathlib import Path
from typing import Any

import pytest
from heddle_knowledge.uploads import store
from heddle_knowledge.uploads.stores import open_file_stores
from heddle_runtime.errors import (
    HeddleError,
    InvalidRequestError,
    NotFoundError,
    ResourceExhaustedError,
)
from knowledge.uploads.desk import Desk, refusal, serving


async def test_what_is_uploaded_is_what_comes_back(tmp_path: Path) -> None:
    async with serving(tmp_path) as desk:
        made = await desk(
            "ana",
            "CreateFile",
            filename="../notes/Sheds Ⅱ.md",
            purpose="user_data",
            media_type="text/markdown",
            data=b"Threads.",
        )
        assert made.file.filename == "Sheds Ⅱ.md"
        assert (made.file.size, made.file.purpose) == (8, "user_data")
    async with serving(tmp_path) as desk:
        assert (await desk("ana", "GetFile", id=made.file.id)).file == made.file
        content = await desk("ana", "GetFileContent", id=made.file.id)
        assert (content.file, content.data) == (made.file, b"Threads.")


async def test_a_file_is_its_uploaders_alone(desk: Desk) -> None:
    made, nowhere = await desk.upload("ana"), "file-" + "0" * 32
    mine = await desk.collection("ben")
    for person in ("ben", "head", "twin", "root"):
        for method in ("GetFile", "GetFileContent", "DeleteFile"):
            forbidden = await refusal(desk, person, method, id=made)
            missing = await refusal(desk, person, method, id=nowhere)
            assert type(forbidden) is type(missing) is NotFoundError
            assert forbidden.message.replace(made, nowhere) == missing.message
        assert not (await desk(person, "ListFiles")).files
    fields = {"collection": mine, "file_id": made}
    assert isinstance(await refusal(desk, "ben", "AttachFile", **fields), NotFoundError)
    await desk("ana", "DeleteFile", id=made)
    assert isinstance(await refusal(desk, "ana", "GetFile", id=made), NotFoundError)


async def test_pages_of_files_hold_each_once_in_the_order_of_their_uploads(desk: Desk) -> None:
    made = [await desk.upload("ana", f"{number}.md") for number in range(5)]
    found, token = [], ""
    while True:
        page = await desk("ana", "ListFiles", page_size=2, page_token=token)
        found += [each.id for each in page.files]
        if not (token := page.next_page_token):
            break
    assert found == made


@pytest.mark.parametrize("identifier", ["../x", "file-" + "A" * 32, "file-" + "0" * 33, "."])
async def test_what_is_no_identifier_names_no_file(desk: Desk, identifier: str) -> None:
    assert isinstance(await refusal(desk, "ana", "GetFile", id=identifier), NotFoundError)


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"filename": "a\nb"}, "filename"),
        ({"filename": "x" * 256}, "filename"),
        ({"purpose": "fine-tune"}, "purpose"),
        ({"data": b""}, "data"),
    ],
)
async def test_a_file_that_cannot_be_is_refused(
    desk: Desk, fields: dict[str, Any], path: str
) -> None:
    whole = {"filename": "a.md", "purpose": "assistants", "data": b"x", **fields}
    refused = await refusal(desk, "ana", "CreateFile", **whole)
    assert isinstance(refused, InvalidRequestError)
    assert refused.violations[0].field == path


async def test_who_keeps_too_much_is_told_so(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MAX_BYTES", 20)
    await desk.upload("ana", text="0123456789")
    with pytest.raises(ResourceExhaustedError, match="Delete files"):
        await desk.upload("ana", text="0123456789.")
    await desk.upload("ben", text="0123456789")


async def test_an_upload_that_fails_leaves_nothing_on_the_disk(desk: Desk, tmp_path: Path) -> None:
    await desk.upload("ana")
    people = tmp_path / "uploads"
    before = set(people.rglob("*"))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))  # as a disk that is full
    try:
        with pytest.raises(HeddleError):
            await desk.upload("ana", text="x" * 200_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    assert set(people.rglob("*")) == before


async def test_what_a_crash_left_of_uploads_and_deletions_goes(tmp_path: Path) -> None:
    async with serving(tmp_path) as desk:
        made = await desk.upload("ana")
        [kept] = (tmp_path / "uploads").glob("*/file-*")
        old, young = (kept.with_name(f".file-{sign * 32}") for sign in "ab")
        for each in (old, young):
            each.write_text("Threads.")
        os.utime(old, (0, 0))
        async with open_file_stores("", tmp_path) as stores:
            await stores.uploads.objects.sweep()
        await desk("ana", "GetFile", id=made)
        assert not old.exists()
        assert young.exists()  # another process may be writing it
