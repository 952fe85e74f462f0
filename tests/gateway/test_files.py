"""`/v1/files`, by the unmodified `openai` package in its strictest mode."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import openai
import pytest
from gateway.shelves import Shelves, shelves

FORM = "multipart/form-data; boundary=b"
ODD_NAME = (
    b'--b\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nassistants\r\n'
    b'--b\r\ncontent-disposition: form-data; name="file"; filename="+2AA-.md"\r\n\r\nx\r\n--b--\r\n'
)


@pytest.fixture
async def shelf(tmp_path: Path) -> AsyncIterator[Shelves]:
    async with shelves(tmp_path, max_body_bytes=100_000) as running:
        yield running


async def test_a_file_is_uploaded_listed_read_and_deleted(shelf: Shelves) -> None:
    ana = shelf.openai["ana"].files
    made = await ana.create(file=("Sheds Ⅱ.md", b"Threads."), purpose="assistants")
    assert (made.filename, made.bytes, made.status) == ("Sheds Ⅱ.md", 8, "processed")
    other = await ana.create(file=("b.txt", b"More."), purpose="user_data")
    assert [each.id async for each in ana.list(order="asc")] == [made.id, other.id]
    assert [each.id async for each in ana.list(limit=1)] == [other.id, made.id]
    assert [each.id async for each in ana.list(purpose="user_data")] == [other.id]
    assert await ana.retrieve(made.id) == made
    assert (await ana.content(made.id)).content == b"Threads."
    assert (await ana.delete(made.id)).deleted
    with pytest.raises(openai.NotFoundError):
        await ana.retrieve(made.id)


async def test_anothers_file_is_not_there(shelf: Shelves) -> None:
    made = await shelf.openai["ana"].files.create(file=("a.md", b"x"), purpose="assistants")
    for person in ("ben", "head", "eve", "root"):
        files = shelf.openai[person].files
        with pytest.raises(openai.NotFoundError):
            await files.content(made.id)
        with pytest.raises(openai.NotFoundError):
            await files.delete(made.id)
        assert [each async for each in files.list()] == []


@pytest.mark.parametrize(
    ("form", "param"),
    [
        ({"data": {"purpose": "assistants"}, "files": {"other": ("a.md", b"x")}}, "file"),
        ({"data": {"purpose": "fine-tune"}, "files": {"file": ("a.md", b"x")}}, "purpose"),
        ({"files": {"file": ("a.md", b"x")}}, "purpose"),
        (
            {
                "data": {"purpose": "assistants", "expires_after[seconds]": "9"},
                "files": {"file": ("a.md", b"x")},
            },
            "expires_after[seconds]",
        ),
        ({"data": {"purpose": "assistants"}, "files": {"file": ("a.md", b"")}}, "file"),
        ({"content": ODD_NAME, "headers": {"content-type": f"{FORM}; charset=utf-7"}}, None),
        ({"json": {"purpose": "assistants"}}, None),
        ({"content": b"x", "headers": {"content-type": "multipart/form-data"}}, None),
    ],
)
async def test_a_form_that_cannot_be_is_refused(
    shelf: Shelves, form: dict[str, Any], param: str | None
) -> None:
    response = await shelf["ana"].post("/v1/files", **form)
    assert response.status_code == 400, response.text
    assert response.json()["error"]["param"] == param


async def test_a_file_that_is_too_large_is_refused(shelf: Shelves) -> None:
    with pytest.raises(openai.APIStatusError) as caught:
        await shelf.openai["ana"].files.create(file=("a.txt", b"x" * 100_001), purpose="assistants")
    assert caught.value.status_code == 413


async def test_an_unknown_cursor_is_named(shelf: Shelves) -> None:
    response = await shelf["ana"].get("/v1/files?after=file-x")
    assert (response.status_code, response.json()["error"]["param"]) == (400, "after")
