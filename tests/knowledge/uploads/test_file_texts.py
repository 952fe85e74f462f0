"""`heddle.knowledge.v1.FileService`: the texts of uploads."""

from pathlib import Path

import pytest
from heddle_runtime.errors import InvalidRequestError, NotFoundError
from heddle_runtime.identity.call_metadata import CALLER, Caller
from heddle_runtime.identity.grants import Grant, GrantSigner
from heddle_runtime.settings.local_secret import OF_THIS_PROCESS
from knowledge.pages.pdfs import pdf
from knowledge.uploads.desk import PEOPLE, Desk, refusal, serving

ANA = Grant("ana@uni.example", "uni")
PAGE = b"<html><body><h1>Looms</h1><p>A shed is a gap.</p></body></html>"


def signed(person: str, grant: Grant) -> str:
    """Return a grant as the orchestrator issues it to a person's call."""
    before = CALLER.set(Caller("req", PEOPLE[person]))
    try:
        return GrantSigner(OF_THIS_PROCESS.get_secret_value()).sign(grant, 60)
    finally:
        CALLER.reset(before)


async def uploaded(desk: Desk, name: str, data: bytes, media_type: str = "") -> str:
    response = await desk(
        "ana",
        "CreateFile",
        filename=name,
        purpose="assistants",
        media_type=media_type,
        data=data,
    )
    return str(response.file.id)


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("a.md", b"# Looms\r\n\r\n* a *shed*\r\n", "# Looms\n\n* a *shed*\n"),
        ("a.csv", b"part,use\nshed,gap\n", "part,use\nshed,gap\n"),
        ("a.html", PAGE, "Looms\n\nA shed is a gap."),
        ("a.pdf", pdf("A shed.", "A heddle."), "A shed.\n\nA heddle."),
        ("a.txt", b"\xef\xbb\xbfwith a mark", "with a mark"),
    ],
)
async def test_the_text_of_a_file_is_read_as_documents_are(
    desk: Desk, name: str, data: bytes, text: str
) -> None:
    file = await uploaded(desk, name, data)
    for _ in range(2):  # the second time it is cached
        response = await desk("ana", "GetFileText", id=file)
        assert (response.text, response.truncated) == (text, False)
        assert response.file.filename == name
    beginning = await desk("ana", "GetFileText", id=file, max_characters=3)
    assert (beginning.text, beginning.truncated) == (text[:3], True)
    whole = await desk("ana", "GetFileText", id=file, max_characters=len(text))
    assert (whole.text, whole.truncated) == (text, False)


async def test_a_file_need_not_be_stored(desk: Desk) -> None:
    for _ in range(2):
        sent = {"data": PAGE, "filename": "a.html", "max_characters": 5}
        response = await desk("ben", "GetFileText", **sent)
        assert (response.text, response.truncated) == ("Looms", True)
        assert (response.file.filename, response.file.id) == ("a.html", "")
    other = await desk("ben", "GetFileText", data=PAGE, filename="a.txt")
    assert other.text == PAGE.decode()
    refused = await refusal(desk, "ben", "GetFileText", data=b"\x89PNG", filename="a.png")
    assert "'a.png'" in refused.message


async def test_a_grant_reads_the_files_of_its_owner_and_no_others(desk: Desk) -> None:
    file = await desk.upload("ana")
    ours = signed("ben", ANA)
    assert (await desk("ben", "GetFileText", grant=ours, id=file)).text == "Threads."
    for grant in ("", signed("ben", Grant("ben@uni.example", "uni"))):
        missing = await refusal(desk, "ben", "GetFileText", grant=grant, id=file)
        assert type(missing) is NotFoundError
    other = signed("ana", Grant("ben@uni.example", "uni"))
    assert type(await refusal(desk, "ana", "GetFileText", grant=other, id=file)) is NotFoundError
    await desk("ana", "DeleteFile", id=file)
    assert type(await refusal(desk, "ben", "GetFileText", grant=ours, id=file)) is NotFoundError


async def test_what_cannot_be_read_says_why(desk: Desk) -> None:
    picture = await uploaded(desk, "a.png", b"\x89PNG\r\n", "image/png")
    refused = await refusal(desk, "ana", "GetFileText", id=picture)
    assert type(refused) is InvalidRequestError
    assert "'a.png' is of type 'image/png', which cannot be read" in refused.message
    empty = await uploaded(desk, "a.txt", b" \n")
    assert "'a.txt' holds no text" in (await refusal(desk, "ana", "GetFileText", id=empty)).message
    for length in (-1, 400_001):
        wrong = await refusal(desk, "ana", "GetFileText", id=empty, max_characters=length)
        assert isinstance(wrong, InvalidRequestError)
        assert [each.field for each in wrong.violations] == ["max_characters"]


async def test_a_text_is_read_again_after_a_restart(tmp_path: Path) -> None:
    async with serving(tmp_path) as desk:
        file = await desk.upload("ana")
    async with serving(tmp_path) as desk:
        assert (await desk("ana", "GetFileText", id=file)).text == "Threads."
