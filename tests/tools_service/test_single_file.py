"""`single_file`: what it reads, and everything that it must not."""

import asyncio
import os
import socket
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from heddle_runtime.errors import InvalidRequestError, ToolFailedError
from heddle_tools_service.providers.files import AssistantFiles
from heddle_tools_service.sdk import Assistant, ToolError
from tools_service.serving import Client, discovering, said, serving, text_of
from tools_service.swapping import swapping

SECRET = "the neighbour's secret"  # in every file that must not be read


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of files with everything around it that could be reached by mistake."""
    files = tmp_path / "files"
    for name in ("1", "2", "docs", "ana@example.org", "docs/deep"):
        (files / name).mkdir(parents=True)
    (files / "guide.md").write_text("the guide")
    (files / "docs" / "notes..md").write_text("dotted")
    (files / "docs" / "deep" / "é ü.txt").write_text("deep")
    (files / "1" / "notes.md").write_text("notes of 1")
    (files / "ana@example.org" / "a.md").write_text("notes of Ana")
    (files / ".hidden").write_text(SECRET)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text(SECRET)
    (tmp_path / "files_evil").mkdir()
    (tmp_path / "files_evil" / "secret.txt").write_text(SECRET)
    (files / "docs" / "link.txt").symlink_to(outside / "secret.txt")
    (files / "docs" / "relative.txt").symlink_to("../../outside/secret.txt")
    (files / "docs" / "way").symlink_to(outside)
    (files / "docs" / "loop").symlink_to("loop")
    (files / "docs" / "others.md").symlink_to("../1/notes.md")
    (files / "docs" / "root").symlink_to("/")
    (files / "docs" / "self").symlink_to("/proc/self/root")
    os.mkfifo(files / "docs" / "pipe")
    (files / "docs" / "latin.txt").write_bytes("caf\xe9".encode("latin-1"))
    (files / "docs" / "binary.txt").write_bytes(b"a\0b")
    (files / "docs" / "bom.txt").write_bytes(b"\xef\xbb\xbfwith a mark")
    return tmp_path


@pytest.fixture
async def client(folder: Path) -> AsyncGenerator[Client]:
    async with serving(discovering(None), folder=folder) as running:
        yield running


@pytest.mark.parametrize(
    ("path", "owner", "text"),
    [
        ("guide.md", "", "the guide"),
        ("docs/notes..md", "anyone@example.org", "dotted"),
        ("docs/deep/é ü.txt", "", "deep"),
        ("docs/bom.txt", "", "with a mark"),
        ("1/notes.md", "1", "notes of 1"),
        ("ana@example.org/a.md", "Ana@Example.org", "notes of Ana"),
    ],
)
async def test_files_that_may_be_read_are(client: Client, path: str, owner: str, text: str) -> None:
    statuses, result = await client.run("single_file", {"file_path": path}, said("?", owner=owner))

    assert statuses == [f"reading file {path}"] or "@" in path  # an address is no word for a status
    assert text_of(result) == text
    assert result.slot == "file"
    [source] = result.sources
    assert (source.kind, source.title) == ("file", path)
    assert dict(source.attributes) == {"path": path, "chars": str(len(text))}
    assert result.metadata["truncated"] is False


PAYLOADS = [
    "../outside/secret.txt",
    "docs/../../outside/secret.txt",
    "docs/../guide.md",
    "..",
    "../files_evil/secret.txt",
    "/etc/passwd",
    "//etc/passwd",
    "/proc/self/environ",
    "./1/notes.md",
    "docs//notes..md",
    "docs/",
    "docs",
    ".hidden",
    "docs/.ssh/id",
    "docs/link.txt",
    "docs/relative.txt",
    "docs/way/secret.txt",
    "docs/loop",
    "docs/loop/x",
    "docs/others.md",
    "docs/root/etc/passwd",
    "docs/self/etc/passwd",
    "docs/pipe",
    "docs\\..\\..\\outside\\secret.txt",
    "..\\outside\\secret.txt",
    "docs/a\0b",
    "docs/a\nb",
    "guide.md\0.txt",
    "docs/" + "x" * 300,
    "1/notes.md",
    "1/absent.md",
    "2/notes.md",
    "ana@example.org/a.md",
    "ANA@example.org/a.md",
    "file:///etc/passwd",
]


@pytest.mark.parametrize("path", PAYLOADS)
async def test_paths_that_lead_elsewhere_are_refused_alike(client: Client, path: str) -> None:
    started = time.perf_counter()
    with pytest.raises(ToolFailedError) as caught:
        await client.run("single_file", {"file_path": path}, said("?", owner="3"))

    assert caught.value.message == "Invalid file path"
    assert time.perf_counter() - started < 5


@pytest.mark.parametrize(
    "path",
    [
        "absent.md",
        "docs/absent.md",
        "%2e%2e/outside/secret.txt",
        "..%2foutside",
        "\u2025/x",
        "guide.md/x",
    ],
)
async def test_paths_that_lead_nowhere_are_not_found(client: Client, path: str) -> None:
    with pytest.raises(ToolFailedError) as caught:
        await client.run("single_file", {"file_path": path}, said("?"))

    assert caught.value.message in (f"File not found: {path}", "Invalid file path")
    assert caught.value.message == f"File not found: {path}" or path.startswith("..")


@pytest.mark.parametrize(
    ("config", "kind", "message"),
    [
        ({}, InvalidRequestError, "No file_path configured"),
        ({"file_path": ""}, InvalidRequestError, "No file_path configured"),
        (
            {"file_path": "docs/latin.txt"},
            ToolFailedError,
            "Failed to read file: it is not UTF-8 text",
        ),
        ({"file_path": "docs/binary.txt"}, ToolFailedError, "Failed to read file: it is not text"),
    ],
)
async def test_what_cannot_be_read_says_why(
    client: Client, config: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        await client.run("single_file", config, said("?"))


@pytest.mark.parametrize(("length", "truncated"), [(99, False), (100, False), (101, True)])
async def test_a_file_is_truncated_only_if_it_goes_on(
    client: Client, folder: Path, length: int, *, truncated: bool
) -> None:
    (folder / "files" / "long.txt").write_text("é" * length)
    config = {"file_path": "long.txt", "max_chars": 100}

    _, result = await client.run("single_file", config, said("?"))

    assert len(text_of(result)) == min(length, 100)
    assert result.metadata["truncated"] is truncated


async def test_a_huge_file_costs_no_more_than_its_beginning(client: Client, folder: Path) -> None:
    with (folder / "files" / "huge.txt").open("wb") as file:
        file.write(b"x" * 1_000)
        file.truncate(2**40)
    started = time.perf_counter()

    _, result = await client.run(
        "single_file", {"file_path": "huge.txt", "max_chars": 900}, said("?")
    )

    assert text_of(result) == "x" * 900
    assert time.perf_counter() - started < 5


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


async def test_no_descriptor_is_left_open(folder: Path) -> None:
    files = AssistantFiles(folder / "files", None, Assistant())
    await files.read("guide.md", 10)
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - counting, not walking
    for path in (*PAYLOADS, "guide.md", "docs/latin.txt", "absent"):
        with suppress(ToolError):
            await files.read(path, 10)

    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - as above


@pytest.mark.skipif(sys.platform != "linux", reason="the swap is a Linux call")
async def test_a_folder_that_is_swapped_for_a_link_meanwhile_leaks_nothing(folder: Path) -> None:
    inside = folder / "files" / "docs" / "swapped"
    inside.mkdir()
    (inside / "secret.txt").write_text("harmless")
    (folder / "files" / "docs" / "other").symlink_to(folder / "outside")
    files = AssistantFiles(folder / "files", None, Assistant())
    seen: dict[str, int] = {}
    async with swapping(folder / "files" / "docs"):
        async with asyncio.timeout(30):
            while "Invalid file path" not in seen:  # the swapper needs a moment to start
                await _look(files, seen)
        for _ in range(2_000):
            await _look(files, seen)

    assert SECRET not in seen
    assert seen["harmless"] > 0


async def _look(files: Any, seen: dict[str, int]) -> None:
    try:
        text = (await files.read("docs/swapped/secret.txt", 100)).text
    except ToolError as error:
        text = str(error)
    seen[text] = seen.get(text, 0) + 1
