"""Many patches at once, in threads and in processes: none is lost, none is half of another."""

import asyncio
import os
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from heddle_tools_service.capabilities.workspace import Edit, FileEdits
from heddle_tools_service.workspace import locks
from heddle_tools_service.workspace.engine import IsWaitedFor, Workspace
from heddle_tools_service.workspace.errors import WorkspaceError
from tools_service.workspace.areas import left_over, waiting, workspace_in

TESTS = Path(__file__).parents[2]


def kind_of(workspace: Workspace, *files: FileEdits, wanted: IsWaitedFor = waiting) -> str:
    try:
        workspace.patch(files, wanted)
    except WorkspaceError as error:
        return error.kind
    return "patched"


def test_a_patch_that_is_given_up_takes_no_folder_away_from_another(workspace: Workspace) -> None:
    together = Barrier(2)

    def make(number: int, name: str, wanted: IsWaitedFor) -> str:
        together.wait()
        file = FileEdits(f"made_{number}/deep/{name}", (Edit("x", ""),), create=True)
        return kind_of(workspace, file, wanted=wanted)

    with ThreadPoolExecutor(2) as pool:
        for number in range(60):
            given_up = pool.submit(make, number, "a.txt", lambda: False)
            kept = pool.submit(make, number, "b.txt", waiting)
            assert (given_up.result(), kept.result()) == ("conflict", "patched")

    made = workspace.list("", "*.txt", 3, 1_000).entries
    assert {entry.path.rpartition("/")[2] for entry in made} == {"b.txt"}
    assert len(made) == 60


@pytest.mark.usefixtures("seven")
def test_of_two_patches_of_one_version_one_wins_and_the_other_is_told(workspace: Workspace) -> None:
    for _ in range(20):
        digest = workspace.page("seven.py", 1, None).sha256
        files = [
            FileEdits("seven.py", (Edit(f"line of {name}", "", 1, 0),), sha256=digest)
            for name in "abcd"
        ]
        with ThreadPoolExecutor(4) as pool:
            kinds = Counter(pool.map(lambda file: kind_of(workspace, file), files))

        assert kinds == {"patched": 1, "conflict": 3}


def test_of_two_patches_of_the_same_lines_one_wins_and_the_other_is_told(
    workspace: Workspace, seven: Path
) -> None:
    before = seven.read_text()
    for _ in range(20):
        seven.write_text(before)
        files = [FileEdits("seven.py", (Edit(name, "# comment", 7, 7),)) for name in "abcd"]
        with ThreadPoolExecutor(4) as pool:
            kinds = Counter(pool.map(lambda file: kind_of(workspace, file), files))

        assert kinds == {"patched": 1, "content_mismatch": 3}
        assert seven.read_text()[-2] in "abcd"


def test_patches_of_different_lines_of_one_file_both_happen(
    workspace: Workspace, seven: Path
) -> None:
    edits = [Edit("x", "    pass", 2, 2), Edit("y", "    pass", 5, 5), Edit("z", "# comment", 7, 7)]
    with ThreadPoolExecutor(3) as pool:
        kinds = list(
            pool.map(lambda edit: kind_of(workspace, FileEdits("seven.py", (edit,))), edits)
        )

    assert kinds == ["patched"] * 3
    assert [seven.read_text().splitlines()[line] for line in (1, 4, 6)] == ["x", "y", "z"]


def test_patches_of_several_files_in_any_order_do_not_wait_in_a_circle(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Who waits in a circle waits this long and is refused; on a busy machine others wait, too.
    monkeypatch.setattr("heddle_tools_service.workspace.engine.LOCK_WAIT", 60.0)
    names = [f"{n}.txt" for n in range(8)]
    for name in names:
        (tmp_path / "ana" / name).write_text("0\n")

    def patch(turn: int) -> str:
        ordered = names[turn % 8 :] + names[: turn % 8]
        edits = (Edit(f"turn {turn}", "", 1, 0),)
        return kind_of(workspace, *(FileEdits(name, edits) for name in ordered))

    with ThreadPoolExecutor(6) as pool:
        kinds = set(pool.map(patch, range(30)))

    assert kinds == {"patched"}
    contents = {(tmp_path / "ana" / name).read_text() for name in names}
    assert len(contents) == 1
    assert len(contents.pop().splitlines()) == 31


async def test_processes_exclude_each_other_too(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "ana" / "shared.txt").write_text("end\n")
    script = str(Path(__file__).with_name("patch_in_process.py"))
    running = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, script, str(tmp_path), name, "25"),
            env={**os.environ, "PYTHONPATH": str(TESTS)},
        )
        for name in "abc"
    ]
    assert [await process.wait() for process in running] == [0, 0, 0]

    lines = workspace.page("shared.txt", 1, None).lines
    assert sorted(lines) == sorted([*(f"{name} {n}" for name in "abc" for n in range(25)), "end"])
    assert left_over(tmp_path) == []


def test_who_waits_too_long_is_told(
    workspace: Workspace, seven: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heddle_tools_service.workspace.engine.LOCK_WAIT", 0.2)
    workspace.state.make()
    started = time.perf_counter()
    with locks.paths_held(workspace.state.locks, ["seven.py"], time.monotonic() + 1):
        assert kind_of(workspace, FileEdits("seven.py", (Edit("x", "", 1, 0),))) == "conflict"
    assert time.perf_counter() - started < 2
    assert not seven.read_text().startswith("x")


def test_workspaces_do_not_wait_for_each_other(tmp_path: Path) -> None:
    one, other = workspace_in(tmp_path / "one"), workspace_in(tmp_path / "other")
    one.state.make()
    with locks.held(one.state.locks / "all", time.monotonic() + 1):
        new = FileEdits("a.txt", (Edit("x", ""),), create=True)
        assert kind_of(other, new) == "patched"
