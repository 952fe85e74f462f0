"""Threat 4: a path leads out of the folder of its owner, to read or to write."""

import os
import time
from collections.abc import AsyncGenerator
from contextlib import suppress
from pathlib import Path

import pytest
from heddle_runtime.errors import ToolFailedError
from heddle_tools_service.capabilities.workspace import Edit, FileEdits, FileQuery
from heddle_tools_service.providers.files import AssistantFiles
from heddle_tools_service.sdk import Assistant, ToolError
from heddle_tools_service.workspace.engine import Workspace
from heddle_tools_service.workspace.errors import WorkspaceError
from runtime.examples import sampled
from threats.surroundings import SECRET, snapshot, surrounded_files, surrounded_workspace
from tools_service.serving import Client, discovering, said, serving
from tools_service.workspace.areas import patched, waiting

INSERTION = Edit("x", "", 1, 0)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A workspace with everything around it that a path could reach by mistake."""
    return surrounded_workspace(tmp_path)


@pytest.fixture
async def client(tmp_path: Path) -> AsyncGenerator[Client]:
    """A tool service with files of assistants."""
    surrounded_files(tmp_path)
    async with serving(discovering(None), folder=tmp_path) as running:
        yield running


PATHS = [
    *("../outside/secret.txt", "docs/../../outside/secret.txt", "..", "../ana_evil/secret.txt"),
    *("/etc/passwd", "//etc/passwd", "/proc/self/environ", "docs//x", "docs/", "docs", ".", ""),
    *("docs/.git/config", "docs/.GIT/hooks/pre-commit", ".heddle-1", "../.state/locks/all"),
    *("docs/link.txt", "docs/dangling.txt", "docs/way/secret.txt", "docs/way/new.txt"),
    *("docs/loop", "docs/loop/x", "docs/self/etc/passwd", "docs/second.txt", "docs/pipe"),
    *("docs\\..\\..\\outside\\secret.txt", "docs/a\0b", "docs/a\nb", "docs/\u200d.git/x"),
    *("docs/" + "x" * 300, "x/" * 3_000 + "y", "docs/\udcff", "docs/./x"),
]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: ascii(path)[:40])
@pytest.mark.parametrize("create", [False, True])
def test_paths_that_lead_elsewhere_are_denied(
    workspace: Workspace, tmp_path: Path, path: str, *, create: bool
) -> None:
    before = snapshot(tmp_path)
    started = time.perf_counter()

    for attempt in (
        lambda: workspace.page(path, 1, None),
        lambda: workspace.patch([FileEdits(path, (INSERTION,), create=create)], waiting),
    ):
        with pytest.raises(WorkspaceError) as caught:
            attempt()
        assert caught.value.kind == "path_denied"
        assert SECRET not in str(caught.value)

    assert time.perf_counter() - started < 5
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize(
    "path", ["%2e%2e/outside", "..%2foutside", "\u2025/x", "docs/.env/x", "no"]
)
def test_paths_that_lead_nowhere_are_not_found(workspace: Workspace, path: str) -> None:
    with pytest.raises(WorkspaceError) as caught:
        patched(workspace, path, INSERTION)

    assert caught.value.kind in ("not_found", "path_denied")
    assert caught.value.kind == "not_found" or path.startswith("..")


def test_a_hidden_file_of_ones_own_can_be_changed(workspace: Workspace, tmp_path: Path) -> None:
    patched(workspace, "./docs/.env", INSERTION)

    assert (tmp_path / "ana" / "docs" / ".env").read_text() == "x\nmine"


def test_lists_and_searches_pass_links_by(workspace: Workspace) -> None:
    listing = workspace.list("", "", 9, 100)
    matches = workspace.search(FileQuery("secret"))

    assert [entry.path for entry in listing.entries] == ["docs", "docs/.env", "docs/second.txt"]
    assert matches.matches == ()
    assert matches.skipped == 1


@pytest.mark.parametrize("folder", ["..", "/", "docs/way", "docs/.git", "../outside", "docs/loop"])
def test_folders_that_lead_elsewhere_are_denied(workspace: Workspace, folder: str) -> None:
    for attempt in (
        lambda: workspace.list(folder, "", 9, 100),
        lambda: workspace.search(FileQuery("secret", folder=folder)),
    ):
        with pytest.raises(WorkspaceError) as caught:
            attempt()
        assert caught.value.kind == "path_denied"


FILE_PATHS = [
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


@pytest.mark.parametrize("path", sampled(FILE_PATHS, 10))
async def test_paths_of_files_that_lead_elsewhere_are_refused_alike(
    client: Client, path: str
) -> None:
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
async def test_paths_of_files_that_lead_nowhere_are_not_found(client: Client, path: str) -> None:
    with pytest.raises(ToolFailedError) as caught:
        await client.run("single_file", {"file_path": path}, said("?"))

    assert caught.value.message in (f"File not found: {path}", "Invalid file path")
    assert caught.value.message == f"File not found: {path}" or path.startswith("..")


async def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    files = AssistantFiles(surrounded_files(tmp_path), None, Assistant())
    await files.read("guide.md", 10)
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - counting, not walking
    for path in (*FILE_PATHS, "guide.md", "docs/latin.txt", "absent"):
        with suppress(ToolError):
            await files.read(path, 10)

    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - as above
