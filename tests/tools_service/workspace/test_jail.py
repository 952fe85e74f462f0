"""Nothing leads out of a workspace: no path, no link, not even one that appears meanwhile."""

import asyncio
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from heddle_tools_service.capabilities.workspace import Edit, FileEdits, FileQuery
from heddle_tools_service.workspace.engine import Workspace
from heddle_tools_service.workspace.errors import WorkspaceError
from runtime.examples import repetitions
from tools_service.swapping import swapping
from tools_service.workspace.areas import left_over, patched, waiting, workspace_in

SECRET = "the neighbour's secret"  # in every file that must not be read
TRIES = repetitions(20_000)
DENIED = "path_denied: False"
INSERTION = Edit("x", "", 1, 0)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A workspace with everything around it that could be reached by mistake."""
    made = workspace_in(tmp_path)
    made.state.make()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text(SECRET)
    (tmp_path / "ana_evil").mkdir()
    (tmp_path / "ana_evil" / "secret.txt").write_text(SECRET)
    inside = tmp_path / "ana"
    (inside / "docs" / ".git").mkdir(parents=True)
    (inside / "docs" / ".git" / "config").write_text(SECRET)
    (inside / "docs" / ".env").write_text("mine")
    (inside / "docs" / "link.txt").symlink_to(outside / "secret.txt")
    (inside / "docs" / "dangling.txt").symlink_to(outside / "new.txt")
    (inside / "docs" / "way").symlink_to(outside)
    (inside / "docs" / "loop").symlink_to("loop")
    (inside / "docs" / "self").symlink_to("/proc/self/root")
    (inside / "docs" / "second.txt").hardlink_to(outside / "secret.txt")
    os.mkfifo(inside / "docs" / "pipe")
    return made


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


@pytest.mark.skipif(sys.platform != "linux", reason="the swap is a Linux call")
async def test_a_folder_that_is_swapped_for_a_link_meanwhile_is_never_left(
    workspace: Workspace, tmp_path: Path
) -> None:
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
            seen[told(lambda: workspace.page("docs/swapped/secret.txt", 1, None).path)] += 1
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
        seen[f"{attempt.__name__} {told(partial(attempt, number))}"] += 1


def told(attempt: Callable[[], str]) -> str:
    try:
        return attempt()
    except WorkspaceError as error:
        return f"{error.kind}: {SECRET in str(error)}"


def snapshot(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return what is in a folder, and when it last changed: also what came and went shows."""
    found = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        if ".state" in path.parts or path.is_symlink():
            continue
        about = path.stat()
        found[str(path)] = about.st_mtime_ns, about.st_ctime_ns, b""
        if path.is_file():
            found[str(path)] = (*found[str(path)][:2], path.read_bytes())
    return found
