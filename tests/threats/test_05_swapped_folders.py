"""Threat 5: between its check and its use, another process swaps a folder for a link."""

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from heddle_tools_service.capabilities.workspace import Edit, FileEdits, FileQuery
from heddle_tools_service.providers.files import AssistantFiles
from heddle_tools_service.sdk import Assistant, ToolError
from heddle_tools_service.workspace.engine import Workspace
from heddle_tools_service.workspace.errors import WorkspaceError
from runtime.examples import repetitions
from threats.surroundings import SECRET, snapshot, surrounded_files, surrounded_workspace
from tools_service.swapping import swapping
from tools_service.workspace.areas import left_over, waiting

TRIES = repetitions(20_000)
DENIED = "path_denied: False"
INSERTION = Edit("x", "", 1, 0)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the swap is a Linux call")


async def test_no_call_leaves_a_workspace_whose_folder_is_swapped(
    tmp_path: Path,
) -> None:
    workspace = surrounded_workspace(tmp_path)
    docs, outside = tmp_path / "ana" / "docs", tmp_path / "outside"
    (docs / "swapped").mkdir()
    (docs / "swapped" / "secret.txt").write_text("harmless")
    (docs / "other").symlink_to(outside)
    before = snapshot(outside)
    seen: Counter[str] = Counter()
    async with swapping(docs):
        deadline = time.monotonic() + 20
        while DENIED not in seen:  # the swapper needs a moment to start
            assert time.monotonic() < deadline
            seen[outcome(lambda: workspace.page("docs/swapped/secret.txt", 1, None).path)] += 1
        seen.clear()
        await asyncio.to_thread(_try_all, workspace, seen)

    assert seen.total() == TRIES
    assert not any(SECRET in text or text.endswith("True") for text in seen)
    assert snapshot(outside) == before
    assert left_over(tmp_path) == []
    for name in ("page", "lists", "search", "patch", "create"):
        assert seen[f"{name} {DENIED}"] > 0, f"{name} never met the link"
    assert seen["page harmless"] > 0
    assert seen["patch changed"] + seen["create created"] > 0


def _try_all(workspace: Workspace, seen: Counter[str]) -> None:
    """Try everything that touches a file; reading, which is quick, most often."""
    swapped = "docs/swapped"
    path = f"{swapped}/secret.txt"

    def page(_: int) -> str:
        return workspace.page(path, 1, None).lines[-1]

    def patch(_: int) -> str:
        return workspace.patch([FileEdits(path, (INSERTION,))], waiting).files[0].status

    def create(number: int) -> str:
        new = FileEdits(f"{swapped}/new/{number}.txt", (Edit("y", ""),), create=True)
        return workspace.patch([new], waiting).files[0].status

    def lists(_: int) -> str:
        return str(workspace.list(swapped, "", 1, 3))

    def search(_: int) -> str:
        return str(workspace.search(FileQuery("secret", folder=swapped)))

    rare = (patch, create, lists, search)
    for number in range(TRIES):
        attempt = dict(enumerate(rare)).get(number % 40, page)
        seen[f"{attempt.__name__} {outcome(partial(attempt, number))}"] += 1


def outcome(attempt: Callable[[], str]) -> str:
    try:
        return attempt()
    except WorkspaceError as error:
        return f"{error.kind}: {SECRET in str(error)}"


async def test_a_swapped_folder_of_files_leaks_nothing(tmp_path: Path) -> None:
    docs = surrounded_files(tmp_path) / "docs"
    inside = docs / "swapped"
    inside.mkdir()
    (inside / "secret.txt").write_text("harmless")
    (docs / "other").symlink_to(tmp_path / "outside")
    files = AssistantFiles(tmp_path / "files", None, Assistant())
    seen: dict[str, int] = {}
    async with swapping(docs):
        async with asyncio.timeout(30):
            while "Invalid file path" not in seen:  # the swapper needs a moment to start
                await _look(files, seen)
        for _ in range(2_000):
            await _look(files, seen)

    assert SECRET not in seen
    assert seen["harmless"] > 0


async def _look(files: AssistantFiles, seen: dict[str, int]) -> None:
    try:
        text = (await files.read("docs/swapped/secret.txt", 100)).text
    except ToolError as error:
        text = str(error)
    seen[text] = seen.get(text, 0) + 1
