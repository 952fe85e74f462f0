"""What a patch keeps of a file, and what it tells."""

import stat
from itertools import permutations
from pathlib import Path

import pytest
from heddle_tools_service.capabilities.workspace import Change, Edit
from heddle_tools_service.workspace.engine import Workspace
from tools_service.workspace.areas import patched

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
