"""Documents of LAMB's library server, read over HTTP."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from heddle_runtime.http.guarded_http import new_client
from heddle_tools_service.providers.files import AssistantFiles
from heddle_tools_service.providers.library import LibraryServer
from heddle_tools_service.sdk import Assistant, ToolError, ToolUnavailableError
from tools_service.library_server import TOKEN, Answer, library_server

TEXT = "# Rules\n\nÀ la carte."
ANSWERS: dict[str, Answer] = {"item 2": TEXT, "empty": " \n", "refused": 403, "broken": 500}


@pytest.fixture
async def files(tmp_path: Path) -> AsyncIterator[AssistantFiles]:
    """The files of an assistant beside a library server with one document."""
    answers = {f"lib-1/{name}": answer for name, answer in ANSWERS.items()}
    async with library_server(answers) as url, new_client(5.0) as http:
        yield AssistantFiles(tmp_path, None, Assistant(), library=LibraryServer(http, url, TOKEN))


async def test_a_document_is_read_up_to_its_limit(files: AssistantFiles) -> None:
    whole = await files.read("library:lib-1/item 2", 1000)
    assert (whole.text, whole.truncated) == (TEXT, False)
    start = await files.read("library:lib-1/item 2", 7)
    assert (start.text, start.truncated) == ("# Rules", True)


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("library:lib-1/none", "The library has no such document"),
        ("library:other/item 2", "The library has no such document"),
        ("library:lib-1/empty", "The document of the library is empty"),
        ("library:lib-1/refused", "refuses the request (403)"),
        ("library:lib-1", "Invalid file path"),
        ("library:../x", "Invalid file path"),
        ("library:a/b/c", "Invalid file path"),
        ("library:/x", "Invalid file path"),
    ],
)
async def test_a_failure_says_what_cannot_be_read(
    files: AssistantFiles, path: str, problem: str
) -> None:
    with pytest.raises(ToolError) as refused:
        await files.read(path, 1000)
    assert problem in str(refused.value)


async def test_a_broken_server_is_unavailable(files: AssistantFiles) -> None:
    with pytest.raises(ToolUnavailableError):
        await files.read("library:lib-1/broken", 1000)


async def test_without_a_server_the_failure_says_so(tmp_path: Path) -> None:
    async with new_client(5.0) as http:
        files = AssistantFiles(tmp_path, None, Assistant(), library=LibraryServer(http, "", ""))
        with pytest.raises(ToolError, match="The library server is not set up"):
            await files.read("library:lib-1/item-2", 1000)
