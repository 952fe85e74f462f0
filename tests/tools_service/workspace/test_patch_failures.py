"""A patch that fails half way leaves everything as it was."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from heddle_tools_service.capabilities.workspace import Edit, FileEdits
from heddle_tools_service.workspace import state
from heddle_tools_service.workspace.engine import Workspace
from heddle_tools_service.workspace.errors import WorkspaceError
from tools_service.workspace.areas import SEVEN, left_over, patched, waiting


def test_a_failure_of_the_disk_half_way_leaves_everything_as_it_was(
    workspace: Workspace, seven: Path
) -> None:
    other = seven.parent / "closed" / "b.txt"
    other.parent.mkdir()
    other.write_text("b\n")
    before = seven.read_bytes(), other.read_bytes()
    files = [
        FileEdits("seven.py", (Edit("x", "    pass", 2, 2),)),
        FileEdits("new/deep.txt", (Edit("x", ""),), create=True),
        FileEdits("closed/b.txt", (Edit("c", "b", 1, 1),)),
    ]

    def remove_then_wait() -> bool:  # what somebody else does when everything is written
        (other.parent / "b.txt").rename(other.parent / "c.txt")
        return True

    with pytest.raises(WorkspaceError, match="changed while it was patched") as caught:
        workspace.patch(files, remove_then_wait)

    assert caught.value.kind == "conflict"
    assert (seven.read_bytes(), (other.parent / "c.txt").read_bytes()) == before
    assert not (seven.parent / "new").exists()
    assert left_over(workspace.area.root) == []
    assert list((workspace.state.folder / "backups").iterdir()) == []


@contextmanager
def full_disk(size: int = 100_000) -> Iterator[None]:
    """Let no file grow beyond a number of bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_disk_that_is_full_half_way_leaves_everything_as_it_was(
    workspace: Workspace, seven: Path
) -> None:
    long = "x" * 200_000
    files = [
        FileEdits("seven.py", (Edit("x", "    pass", 2, 2),)),
        FileEdits("new/long.txt", (Edit(long, ""),), create=True),
    ]

    with full_disk(), pytest.raises(WorkspaceError, match=r"'new/long\.txt' cannot be") as caught:
        workspace.patch(files, waiting)

    assert caught.value.kind == "storage"
    assert seven.read_text() == SEVEN
    assert not (seven.parent / "new").exists()
    assert left_over(workspace.area.root) == []
    assert list((workspace.state.folder / "backups").iterdir()) == []
    assert len(workspace.patch(files, waiting).files) == 2


def test_half_of_a_note_is_none(workspace: Workspace) -> None:
    workspace.state.make()
    record = state.Record("0" * 24, (), ("a" * 100,))

    with full_disk(50), pytest.raises(OSError, match="too large"), workspace.state.noted(record):
        pytest.fail("there is no note to begin a patch with")

    assert list(workspace.state.journal.iterdir()) == []


def test_no_descriptor_is_left_open(workspace: Workspace, seven: Path) -> None:
    def use() -> None:
        done = patched(workspace, "seven.py", Edit("x", "    pass", 2, 2))
        with pytest.raises(WorkspaceError):
            patched(workspace, "seven.py", Edit("x", "    pass", 2, 2))
        with pytest.raises(WorkspaceError):
            patched(workspace, "../x", Edit("x", "    pass", 2, 2))
        workspace.restore(done.restore_id, waiting)
        workspace.list("", "", 9, 9)

    use()
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - counting, not walking
    for _ in range(5):
        use()

    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - as above
    assert seven.exists()
