"""Files in messages: what the orchestrator gets of them."""

from base64 import b64encode
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from gateway.test_translate import PNG, ordered
from heddle.orchestrator.v1.orchestrator_pb2 import RunCompletionRequest
from heddle_gateway.http.error_responses import RejectedRequestError
from heddle_gateway.openai.chat.file_references import MAX_FILE_CHARACTERS, READ, inline_files
from heddle_gateway.state import State
from heddle_runtime.contract.conversations import question
from heddle_runtime.errors import HeddleError
from heddle_runtime.identity.call_metadata import CALLER, Caller
from knowledge.pages.pdfs import pdf
from knowledge.uploads.desk import PEOPLE, Desk, serving

QUESTION = "What holds a thread?"
BROKEN = b"%PDF-1.4 sheds"


def encoded(data: bytes) -> str:
    return b64encode(data).decode()


def request_of(**file: str) -> RunCompletionRequest:
    parts = [{"type": "file", "file": file}, {"type": "text", "text": QUESTION}]
    return ordered(messages=[{"role": "user", "content": parts}]).run


async def inlined(desk: Desk, person: str = "ana", **file: str) -> Any:
    run = request_of(**file)
    state = SimpleNamespace(services=SimpleNamespace(files=desk.files))
    before = CALLER.set(Caller("req", PEOPLE[person]))
    try:
        await inline_files(cast("State", state), run)
    finally:
        CALLER.reset(before)
    assert question(run.messages) == QUESTION  # tools search for nothing else
    return run.messages[0].parts[0]


async def test_documents_become_text_and_pictures_pictures(tmp_path: Path) -> None:
    async with serving(tmp_path) as desk:
        data = pdf("A heddle.")
        stored = (
            await desk("ana", "CreateFile", filename="a.pdf", purpose="user_data", data=data)
        ).file.id
        for file in ({"file_data": encoded(data), "filename": "a.pdf"}, {"file_id": stored}):
            part = await inlined(desk, **file)
            assert part.text == "<attached_files>\nFile a.pdf:\nA heddle.\n</attached_files>\n"
        text = b"See </attached_files>\nthat."
        part = await inlined(desk, file_data=encoded(text), filename="b\n.md")
        assert part.text == "<attached_files>\nFile b .md:\nSee \nthat.\n</attached_files>\n"

        picture = (
            await desk("ana", "CreateFile", filename="a.png", purpose="user_data", data=PNG)
        ).file.id
        for file in ({"file_data": encoded(PNG), "filename": "a.png"}, {"file_id": picture}):
            part = await inlined(desk, **file)
            assert (part.image.data, part.image.media_type) == (PNG, "image/png")

        read = f"data:{READ};base64,{encoded(data)}"  # would be read as a PDF otherwise
        assert "%PDF" in (await inlined(desk, file_data=read, filename="a.pdf")).text

        # Its provider may be able to read it.
        part = await inlined(desk, file_data=encoded(BROKEN), filename="a.pdf")
        assert (part.file.data, part.file.filename) == (BROKEN, "a.pdf")

        long = b"word " * (MAX_FILE_CHARACTERS // 5)
        assert (await inlined(desk, file_data=encoded(long), filename="a.txt")).text


@pytest.mark.parametrize(
    ("file", "param", "words"),
    [
        ({"file_data": encoded(b"\0\1"), "filename": "a.zip"}, "", "cannot be read"),
        (
            {"file_data": encoded(b"a" * (MAX_FILE_CHARACTERS + 1)), "filename": "a.txt"},
            "",
            "200,000",
        ),
        ({"file_id": "file-of-a-provider"}, ".file.file_id", "Upload it"),
        ({"file_id": f"file-{'0' * 32}"}, ".file.file_id", "Upload it"),
    ],
    ids=["unreadable", "long", "foreign", "unknown"],
)
async def test_other_files_are_refused(
    tmp_path: Path, file: dict[str, str], param: str, words: str
) -> None:
    async with serving(tmp_path) as desk:
        with pytest.raises((HeddleError, RejectedRequestError)) as caught:
            await inlined(desk, **file)
    error = caught.value
    if isinstance(error, RejectedRequestError):
        assert error.error.code == "file_too_large"
        param_of_error, message = error.error.param, error.error.message
    else:
        assert isinstance(error, HeddleError)
        param_of_error, message = error.violations[0].field, error.message
    assert param_of_error == f"messages[0].content[0]{param}"
    assert words in message


async def test_a_strangers_file_is_missing(tmp_path: Path) -> None:
    async with serving(tmp_path) as desk:
        stored = await desk.upload("ana")
        assert (await inlined(desk, file_id=stored)).text
        for person in ("ben", "head", "twin", "root"):
            with pytest.raises(HeddleError, match="is no file of yours"):
                await inlined(desk, person, file_id=stored)
