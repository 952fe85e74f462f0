"""What a patch keeps of a file, what it tells, and how it is undone."""

import os
import resource
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import permutations
from pathlib import Path

import pytest
from heddle_tools_service.workspace import state
from heddle_tools_service.workspace.engine import Workspace
from heddle_tools_service.workspace.errors import WorkspaceError
from heddle_tools_service.workspace.shapes import Change, Edit, FileEdits
from tools_service.workspace.areas import SEVEN, left_over, patched, waiting

DIFF = f"""\
--- a/seven.py
+++ b/seven.py
@@ -1,7 +1,8 @@
 def func1():
+    print(1)
     pass
{" "}
 def func2():
-    pass
+    print(2)
{" "}
-# comment
+# the end
"""


def test_a_patch_tells_everything(workspace: Workspace, seven: Path) -> None:
    found = patched(
        workspace,
        "seven.py",
        Edit("# the end", "# comment", 7, 7, "clearer"),
        Edit("    print(2)", "    pass", 5, 5, "speak"),
        Edit("    print(1)\n    pass", "    pass", 2, 2),
    )

    [file] = found.files
    assert file.diff == DIFF
    assert (file.status, file.added, file.removed) == ("changed", 3, 2)
    assert file.sha256 == workspace.page("seven.py", 1, None).sha256
    assert file.changes == (
        Change(0, 7, 7, 8, 8, "clearer", unchanged=False),
        Change(1, 5, 5, 6, 6, "speak", unchanged=False),
        Change(2, 2, 2, 2, 3, "", unchanged=False),
    )
    assert seven.read_text().splitlines()[7] == "# the end"


EIGHT = "".join(f"{number}\n" for number in range(1, 9))
PAIRS = (
    Edit("seven\nand a half\neight", "7\n8", 7, 8),
    Edit("", "4\n5", 4, 5),
    Edit("one\none and a half\ntwo\ntwo and a half", "1\n2", 1, 2),
)


@pytest.mark.parametrize("edits", list(permutations(PAIRS)))
def test_lines_are_those_before_the_call_in_any_order_of_changes(
    workspace: Workspace, seven: Path, edits: tuple[Edit, ...]
) -> None:
    seven.write_text(EIGHT)

    found = patched(workspace, "seven.py", *edits)

    assert seven.read_text().split("\n") == [
        *("one", "one and a half", "two", "two and a half"),
        *("3", "6", "seven", "and a half", "eight", ""),
    ]
    [backup] = (workspace.state.folder / "backups").iterdir()
    assert backup.name == found.restore_id
    assert (backup / "0").read_text() == EIGHT


def test_a_dry_run_tells_the_same_and_writes_nothing(workspace: Workspace, seven: Path) -> None:
    edits = (Edit("x", "    pass", 2, 2), Edit("y", "", 1, 0))
    before = seven.stat().st_mtime_ns

    dry = patched(workspace, "seven.py", *edits, dry_run=True)

    assert seven.stat().st_mtime_ns == before
    assert not workspace.state.folder.exists()
    assert dry.restore_id == ""
    assert patched(workspace, "seven.py", *edits).files == dry.files


@pytest.mark.parametrize(
    ("before", "edit", "after"),
    [
        (b"a\r\nb\r\n", Edit("x\ny", "a", 1, 1), b"x\r\ny\r\nb\r\n"),
        (b"a\nb\r\nc\n", Edit("x\ny\nz", "a\nb", 1, 2), b"x\ny\r\nz\r\nc\n"),
        (b"a\nb", Edit("x", "b", 2, 2), b"a\nx"),
        (b"a\nb", Edit("x\n", "", 3, 2), b"a\nb\nx"),
        (b"a\r\nb", Edit("", "b", 2, 2), b"a"),
        (b"a\n", Edit("x\r\ny\r\n", "a\r\n", 1, 1), b"x\ny\n"),
        (b"\xef\xbb\xbfa\nb\n", Edit("x", "a", 1, 1), b"\xef\xbb\xbfx\nb\n"),
        (b"\xef\xbb\xbfa\nb\n", Edit("\ufeffx", "\ufeffa", 1, 1), b"\xef\xbb\xbfx\nb\n"),
        (b"\xef\xbb\xbfa\nb\n", Edit("x", "", 1, 0), b"\xef\xbb\xbfx\na\nb\n"),
        (b"\xef\xbb\xbfa\nb\n", Edit("", "a", 1, 1), b"\xef\xbb\xbfb\n"),
        (b"\xff\nb\n", Edit("x", "b", 2, 2), b"\xff\nx\n"),
        (b"caf\xe9 = 1\n", Edit("caf\ufffd = 2", "caf\ufffd = 1", 1, 1), b"caf\xe9 = 2\n"),
        (b"caf\xe9 = 1\n", Edit("= 2", "= 1"), b"caf\xe9 = 2\n"),
        (b"caf\xe9\n", Edit("\ufffd!", "\ufffd"), b"caf\xe9!\n"),
        (b"\xe9 \xe8 a\n", Edit("\ufffd b", "\ufffd a"), b"\xe9 \xe8 b\n"),
        (
            b"\xe9\na\n\xe8\n",
            Edit("\ufffd\nb\nc\n\ufffd", "\ufffd\na\n\ufffd"),
            b"\xe9\nb\nc\n\xe8\n",
        ),
        (b"a\n\xe9\n", Edit("\ufffd", "a", 1, 1), b"\xef\xbf\xbd\n\xe9\n"),
        (b"a\x0bb\x0cc\xe2\x80\xa8d\n", Edit("x", "", 2, 1), b"a\x0bb\x0cc\xe2\x80\xa8d\nx\n"),
        (b"a\rb\nc\n", Edit("x", "a\rb", 1, 1), b"x\nc\n"),
        (b"a\nb\n", Edit("\n", "a", 1, 1), b"\nb\n"),
        (b"a\n\nb\n", Edit("", "a\n", 1, 2), b"b\n"),
        (b"a\nb\nc\n", Edit("x\n", "a\nb\n"), b"x\nc\n"),
        (b"a\nb\nc\n", Edit("x", "b\n"), b"a\nx\nc\n"),
        (b"a\nb\nc\n", Edit("x", "a\nb\n"), b"x\nc\n"),
        (b"a\nb\nc\n", Edit("bc", "b\nc"), b"a\nbc\n"),
        (b"a\nb\nc\n", Edit("", "b\n"), b"a\nc\n"),
        (b"a\nb\nc\n", Edit("", "\nb"), b"a\nc\n"),
        (b"a\nbcd\ne\n", Edit("X\nY", "c"), b"a\nbX\nYd\ne\n"),
        (b"a\nb", Edit("x", "a\nb\n"), b"x"),
        (b"", Edit("a\r\nb", "", 1, 0), b"a\r\nb"),
        (b"a\n", Edit("", "a\n", 1, 1), b""),
    ],
)
def test_ends_marks_and_bytes_stay(
    workspace: Workspace, tmp_path: Path, before: bytes, edit: Edit, after: bytes
) -> None:
    path = tmp_path / "ana" / "file"
    path.write_bytes(before)

    patched(workspace, "file", edit)

    assert path.read_bytes() == after


def test_permissions_stay_and_nothing_special_is_kept(workspace: Workspace, seven: Path) -> None:
    seven.chmod(0o4751)

    patched(workspace, "seven.py", Edit("x", "    pass", 2, 2))

    assert stat.S_IMODE(seven.stat().st_mode) == 0o751


def test_backups_are_for_the_service_alone(workspace: Workspace, seven: Path) -> None:
    seven.chmod(0o644)
    found = patched(workspace, "seven.py", Edit("x", "    pass", 2, 2))

    for folder in ("locks", "journal", "backups", f"backups/{found.restore_id}"):
        assert stat.S_IMODE((workspace.state.folder / folder).stat().st_mode) == 0o700
    backup = workspace.state.backup(found.restore_id)
    assert {stat.S_IMODE(file.stat().st_mode) for file in backup.iterdir()} == {0o600}


def test_a_patch_and_its_undoing_can_be_undone(
    workspace: Workspace, seven: Path, tmp_path: Path
) -> None:
    before = seven.read_bytes()
    seven.chmod(0o755)
    done = workspace.patch(
        [
            FileEdits("seven.py", (Edit("x", "    pass", 2, 2),)),
            FileEdits("new.txt", (Edit("new", ""),), create=True),
        ],
        waiting,
    )
    after = seven.read_bytes()

    undone = workspace.restore(done.restore_id, waiting)

    assert [(file.path, file.status) for file in undone.files] == [
        ("seven.py", "restored"),
        ("new.txt", "removed"),
    ]
    assert seven.read_bytes() == before
    assert stat.S_IMODE(seven.stat().st_mode) == 0o755
    assert not (tmp_path / "ana" / "new.txt").exists()

    workspace.restore(undone.restore_id, waiting)

    assert seven.read_bytes() == after
    assert (tmp_path / "ana" / "new.txt").read_text() == "new"


def test_one_file_of_a_patch_can_be_restored(workspace: Workspace, seven: Path) -> None:
    before = seven.read_bytes()
    (seven.parent / "b.txt").write_text("b\n")
    done = workspace.patch(
        [
            FileEdits("seven.py", (Edit("x", "    pass", 2, 2),)),
            FileEdits("b.txt", (Edit("c", "b", 1, 1),)),
        ],
        waiting,
    )

    undone = workspace.restore(done.restore_id, waiting, path="seven.py")

    assert [file.path for file in undone.files] == ["seven.py"]
    assert seven.read_bytes() == before
    assert (seven.parent / "b.txt").read_text() == "c\n"
    with pytest.raises(WorkspaceError, match="did not touch"):
        workspace.restore(done.restore_id, waiting, path="other")


def test_what_was_written_since_is_lost_only_by_force(workspace: Workspace, seven: Path) -> None:
    before = seven.read_bytes()
    done = patched(workspace, "seven.py", Edit("x", "    pass", 2, 2))
    seven.write_text("other work\n")

    with pytest.raises(WorkspaceError, match="changed since") as caught:
        workspace.restore(done.restore_id, waiting)
    assert caught.value.kind == "conflict"
    assert seven.read_text() == "other work\n"

    workspace.restore(done.restore_id, waiting, force=True)
    assert seven.read_bytes() == before


def test_a_change_whose_backup_is_being_removed_is_not_found(
    workspace: Workspace, seven: Path
) -> None:
    made = patched(workspace, "seven.py", Edit("x", "    pass", 2, 2)).restore_id
    (workspace.state.folder / "backups" / made / "0").unlink()

    with pytest.raises(WorkspaceError, match="There is no restore_id") as caught:
        workspace.restore(made, waiting)

    assert caught.value.kind == "not_found"
    assert seven.read_text().splitlines()[1] == "x"


def test_what_is_left_of_a_backup_goes_with_the_next_change(
    workspace: Workspace, seven: Path
) -> None:
    backups = workspace.state.folder / "backups"
    patched(workspace, "seven.py", Edit("x", "    pass", 2, 2))
    (backups / "half-removed").mkdir()
    (backups / "half-removed" / "0").write_text("old")

    made = patched(workspace, "seven.py", Edit("y", "    pass", 5, 5)).restore_id

    assert "half-removed" not in {path.name for path in backups.iterdir()}
    assert workspace.restore(made, waiting).files[0].status == "restored"
    assert "y" not in seven.read_text()


@pytest.mark.parametrize("identifier", ["", "x", "0" * 24, "../../ana", "..", "0" * 23 + "/"])
@pytest.mark.usefixtures("seven")
def test_an_unknown_restore_id_is_not_found(workspace: Workspace, identifier: str) -> None:
    patched(workspace, "seven.py", Edit("x", "    pass", 2, 2))

    with pytest.raises(WorkspaceError, match="There is no restore_id") as caught:
        workspace.restore(identifier, waiting)
    assert caught.value.kind == "not_found"


def test_only_the_last_backups_are_kept(
    workspace: Workspace, seven: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "MOST_BACKUPS", 3)
    done = [patched(workspace, "seven.py", Edit("x", "", 1, 0)).restore_id for _ in range(5)]

    kept = sorted(path.name for path in (workspace.state.folder / "backups").iterdir())

    assert kept == sorted(done)[-3:]
    assert kept == done[-3:]
    assert seven.read_text().startswith("x\n" * 5)


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
