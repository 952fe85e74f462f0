"""Threat 6: a path names a FIFO, a device, a socket, a huge file, or holds a NUL."""

import socket
import time
from pathlib import Path

import pytest
from heddle_tools_service.capabilities.workspace import FileQuery
from heddle_tools_service.providers.files import AssistantFiles
from heddle_tools_service.sdk import Assistant, ToolError
from heddle_tools_service.workspace.errors import WorkspaceError
from threats.surroundings import SECRET, surrounded_files, surrounded_workspace

MAX_SECONDS = 0.1
PATHS = ("docs/pipe", "docs/loop", "docs/loop/x", "docs/a\0b", "docs/huge.txt\0.md")


@pytest.mark.alone
@pytest.mark.parametrize("path", PATHS, ids=ascii)
async def test_a_path_to_no_file_is_refused_at_once(tmp_path: Path, path: str) -> None:
    (tmp_path / "of_users").mkdir()
    workspace = surrounded_workspace(tmp_path / "of_users")
    files = AssistantFiles(surrounded_files(tmp_path), None, Assistant())
    await files.read("guide.md", 10)  # which imports what reading needs
    workspace.search(FileQuery("secret"))
    started = time.perf_counter()
    with pytest.raises(ToolError, match="Invalid file path"):
        await files.read(path, 10)
    with pytest.raises(WorkspaceError) as refusal:
        workspace.page(path, 1, None)
    matches = workspace.search(FileQuery("secret"))
    seconds = time.perf_counter() - started

    assert refusal.value.kind == "path_denied"
    assert SECRET not in str(matches)
    assert seconds < MAX_SECONDS


async def test_a_device_and_a_socket_are_not_files(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "docs" / "socket"))
        for root, path in (
            (tmp_path, "docs/socket"),
            (Path("/dev"), "zero"),
            (Path("/dev"), "tty"),
        ):
            with pytest.raises(ToolError, match=r"Invalid file path|File not found"):
                await AssistantFiles(root, None, Assistant()).read(path, 10)


@pytest.mark.alone
async def test_a_huge_file_costs_no_more_than_its_beginning(tmp_path: Path) -> None:
    root = surrounded_files(tmp_path)
    with (root / "huge.txt").open("wb") as file:
        file.write(b"x" * 1_000)
        file.truncate(2**40)
    files = AssistantFiles(root, None, Assistant())
    await files.read("guide.md", 10)
    started = time.perf_counter()
    document = await files.read("huge.txt", 900)

    assert document.text == "x" * 900
    assert time.perf_counter() - started < MAX_SECONDS
