"""Why patches fail, in the words that let a model mend its call; and that nothing is written."""

import random
import time
from pathlib import Path

import pytest
from heddle_tools_service.capabilities.workspace import Edit, FileEdits
from heddle_tools_service.workspace.engine import Workspace
from heddle_tools_service.workspace.errors import WorkspaceError
from heddle_tools_service.workspace.limits import MAX_EDITS, MAX_FILE_BYTES, MAX_FILES
from tools_service.workspace.areas import left_over, patched, waiting


def refused(workspace: Workspace, *edits: Edit, path: str = "seven.py") -> WorkspaceError:
    """Return why a patch is refused, having seen that it left the file alone."""
    file = workspace.area.root / "ana" / path
    before = file.stat(), file.read_bytes()
    with pytest.raises(WorkspaceError) as caught:
        patched(workspace, path, *edits)
    assert (file.stat().st_mtime_ns, file.read_bytes()) == (before[0].st_mtime_ns, before[1])
    assert left_over(workspace.area.root) == []
    assert len(str(caught.value)) < 2_000
    return caught.value


@pytest.mark.usefixtures("seven")
class TestSeven:
    """The file of seven lines."""

    @pytest.mark.parametrize(
        ("first", "last"), [(8, 8), (0, 1), (-1, 2), (3, 1), (7, 8), (9, 8), (1, 10**9), (0, -1)]
    )
    def test_lines_that_are_not_there_are_an_invalid_range(
        self, workspace: Workspace, first: int, last: int
    ) -> None:
        error = refused(workspace, Edit("x", "", first, last))

        assert error.kind == "invalid_range"
        assert (
            f"changes[0] of seven.py: Invalid line range {first}-{last}: the file has 7 lines"
            in str(error)
        )
        assert "before any change of this call" in str(error)

    def test_one_wrong_change_of_three_keeps_all_out(self, workspace: Workspace) -> None:
        error = refused(
            workspace,
            Edit("    print(1)\n    pass", "    pass", 2, 2),
            Edit("    print(2)\n    pass", "    pass", 5, 5),
            Edit("x", "# comment", 8, 8),
        )

        assert error.kind == "invalid_range"
        assert "changes[2]" in str(error)
        assert "changes[0]" not in str(error)

    def test_a_mismatch_shows_what_is_there(self, workspace: Workspace) -> None:
        error = refused(workspace, Edit("x", "def func1():\n    return 1", 1, 2))

        assert error.kind == "content_mismatch"
        assert str(error).startswith(
            "changes[0] of seven.py: Content mismatch at lines 1-2. The file has there:\n"
            "    1| def func1():\n    2|     pass\n"
        )

    def test_a_text_that_is_elsewhere_once_is_located(self, workspace: Workspace) -> None:
        error = refused(workspace, Edit("x", "def func2():\n    pass\n", 1, 2))

        assert "old_content is exactly lines 4-5: use these numbers." in str(error)

    def test_a_text_that_is_elsewhere_twice_is_listed(self, workspace: Workspace) -> None:
        error = refused(workspace, Edit("x", "    pass", 1, 1))

        assert "old_content begins at each of the lines 2, 5: choose one." in str(error)

    def test_it_is_followed_only_if_asked_and_unique(
        self, workspace: Workspace, seven: Path
    ) -> None:
        with pytest.raises(WorkspaceError, match="choose one"):
            patched(workspace, "seven.py", Edit("x", "    pass", 1, 1), relocate=True)

        found = patched(workspace, "seven.py", Edit("# x", "# comment\n", 1, 1), relocate=True)

        assert (found.files[0].changes[0].first, found.files[0].changes[0].last) == (7, 7)
        assert seven.read_text().splitlines()[6] == "# x"

    def test_wrong_indentation_is_named(self, workspace: Workspace) -> None:
        error = refused(workspace, Edit("x", "def func2():\n\tpass", 1, 2))

        assert (
            "Nearest to old_content are lines 4-5, which differ in blanks or tabs alone:\n"
            in str(error)
        )
        assert "    4| def func2():\n    5|     pass\n" in str(error)

    def test_the_nearest_lines_are_shown_though_none_is_equal(self, workspace: Workspace) -> None:
        error = refused(workspace, Edit("x", "# commented", 1, 1))

        assert "Nearest to old_content are lines 7-7:\n    7| # comment" in str(error)

    def test_a_text_that_resembles_nothing_is_told_so(self, workspace: Workspace) -> None:
        error = refused(workspace, Edit("x", "SELECT 1 FROM z WHERE q"))

        assert error.kind == "content_mismatch"
        assert "old_content is nowhere in the file." in str(error)
        assert "Nearest" not in str(error)

    def test_a_change_that_was_made_already_is_recognised(self, workspace: Workspace) -> None:
        error = refused(workspace, Edit("    pass", "    return 1", 2, 2))

        assert "The new text is already there: this change needs nothing more." in str(error)

    def test_a_leading_newline_is_a_mismatch_with_a_way_out(self, workspace: Workspace) -> None:
        error = refused(workspace, Edit("x", "\ndef func1():", 1, 1))

        assert "Nearest to old_content are lines 1-2" in str(error)

    def test_a_folder_that_is_a_file_is_named(self, workspace: Workspace) -> None:
        new = FileEdits("seven.py/x", (Edit("x", ""),), create=True)
        with pytest.raises(WorkspaceError, match="a part of its path is a file, not a folder"):
            workspace.patch([new], waiting)

    def test_a_search_text_must_be_unique(self, workspace: Workspace, seven: Path) -> None:
        error = refused(workspace, Edit("x", "pass"))

        assert error.kind == "content_mismatch"
        assert "old_content is there more than once, at lines 2, 5." in str(error)

        patched(workspace, "seven.py", Edit("return 2", "pass\n\n#"))
        assert seven.read_text().endswith("def func2():\n    return 2 comment\n")

    def test_an_empty_search_text_is_refused(self, workspace: Workspace) -> None:
        error = refused(workspace, Edit("x", ""))

        assert error.kind == "invalid_arguments"
        assert "give line_start and line_end" in str(error)

    @pytest.mark.parametrize(("first", "last"), [(1, None), (None, 1)])
    def test_half_a_range_is_refused(
        self, workspace: Workspace, first: int | None, last: int | None
    ) -> None:
        assert refused(workspace, Edit("x", "a", first, last)).kind == "invalid_arguments"

    @pytest.mark.parametrize(
        ("one", "other"),
        [((1, 2), (2, 3)), ((1, 3), (2, 2)), ((2, 2), (2, 2)), ((1, 3), (2, 1)), ((4, 3), (4, 3))],
    )
    def test_changes_that_overlap_are_refused_in_any_order(
        self, workspace: Workspace, one: tuple[int, int], other: tuple[int, int]
    ) -> None:
        lines = ["def func1():", "    pass", "", "def func2():"]
        edits = [
            Edit(f"x{first}", "\n".join(lines[first - 1 : last]), first, last)
            for first, last in (one, other)
        ]
        for ordered in (edits, edits[::-1]):
            error = refused(workspace, *ordered)
            assert error.kind == "overlap"
            assert "changes[0] and changes[1] overlap at line" in str(error)

    def test_an_insertion_replaces_nothing(self, workspace: Workspace) -> None:
        error = refused(workspace, Edit("x", "    pass", 2, 1))

        assert error.kind == "content_mismatch"
        assert "insert before line 2 and replace nothing, so old_content must be empty" in str(
            error
        )

    def test_a_nul_and_no_changes_are_refused(self, workspace: Workspace) -> None:
        assert refused(workspace, Edit("a\0b", "    pass", 2, 2)).kind == "invalid_arguments"
        assert refused(workspace).kind == "invalid_arguments"

    def test_an_edit_that_changes_nothing_is_told_as_unchanged(
        self, workspace: Workspace, seven: Path
    ) -> None:
        before = seven.stat().st_mtime_ns

        found = patched(workspace, "seven.py", Edit("    pass\n", "    pass", 2, 2))

        assert found.restore_id == ""
        assert found.files[0].status == "unchanged"
        assert found.files[0].changes[0].unchanged
        assert seven.stat().st_mtime_ns == before

    @pytest.mark.parametrize(
        "text", ["=======", "<<<<<<< SEARCH", "*** End Patch", "```", "@@ -1 +1 @@", "\\"]
    )
    def test_text_that_looks_like_a_mark_of_some_format_is_text(
        self, workspace: Workspace, seven: Path, text: str
    ) -> None:
        patched(workspace, "seven.py", Edit(text, "# comment", 7, 7))

        assert seven.read_text().splitlines()[6] == text

    def test_another_version_than_the_one_read_is_a_conflict(
        self, workspace: Workspace, seven: Path
    ) -> None:
        digest = workspace.page("seven.py", 1, None).sha256
        edit = Edit("x", "    pass", 2, 2)
        seven.write_text(f"{seven.read_text()}# more\n")

        with pytest.raises(WorkspaceError, match="is not what you read") as caught:
            workspace.patch([FileEdits("seven.py", (edit,), sha256=digest)], waiting)
        assert caught.value.kind == "conflict"
        now = workspace.page("seven.py", 1, None).sha256
        assert now in str(caught.value)
        workspace.patch([FileEdits("seven.py", (edit,), sha256=now[:12].upper())], waiting)

    def test_a_wrong_file_of_two_keeps_the_other_out(
        self, workspace: Workspace, seven: Path
    ) -> None:
        good = FileEdits("seven.py", (Edit("x", "    pass", 2, 2),))
        before = seven.read_text()

        for bad, kind in (
            (FileEdits("absent.py", (Edit("x", "y", 1, 1),)), "not_found"),
            (FileEdits("./seven.py", (Edit("x", "y", 1, 1),)), "invalid_arguments"),
            (FileEdits("seven.py", (Edit("x", ""),), create=True), "invalid_arguments"),
            (FileEdits("seven.py/x", (Edit("x", ""),), create=True), "not_found"),
        ):
            with pytest.raises(WorkspaceError) as caught:
                workspace.patch([good, bad], waiting)
            assert caught.value.kind == kind
        assert seven.read_text() == before
        assert left_over(workspace.area.root) == []

    def test_a_file_that_exists_is_not_made_anew(self, workspace: Workspace) -> None:
        with pytest.raises(WorkspaceError, match="exists already") as caught:
            workspace.patch([FileEdits("seven.py", (Edit("x", ""),), create=True)], waiting)
        assert caught.value.kind == "conflict"

    def test_nobody_waiting_means_nothing_is_written(
        self, workspace: Workspace, seven: Path
    ) -> None:
        before = seven.read_text()

        with pytest.raises(WorkspaceError, match="was cancelled"):
            workspace.patch([FileEdits("seven.py", (Edit("x", "    pass", 2, 2),))], lambda: False)

        assert seven.read_text() == before
        assert left_over(workspace.area.root) == []


def test_an_absent_file_can_be_made_if_that_is_asked(workspace: Workspace, tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="set create to true") as caught:
        patched(workspace, "new.py", Edit("x", "", 1, 0))
    assert caught.value.kind == "not_found"

    for wrong in (Edit("x", "y"), Edit("x", "", 2, 1), Edit("x", "", 1, 1)):
        with pytest.raises(WorkspaceError, match="a new file has one change") as caught:
            workspace.patch([FileEdits("new.py", (wrong,), create=True)], waiting)
        assert caught.value.kind == "invalid_arguments"
    made = workspace.patch(
        [FileEdits("a/b/new.py", (Edit("x\n", "", 1, 0),), create=True)], waiting
    )
    assert made.files[0].status == "created"
    assert (tmp_path / "ana" / "a" / "b" / "new.py").read_text() == "x\n"


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"a\0b\n", "not_text"),
        ("utf-16\n".encode("utf-16"), "not_text"),
        (b"x" * (MAX_FILE_BYTES + 1), "not_text"),
    ],
)
def test_what_is_no_text_is_refused(workspace: Workspace, data: bytes, kind: str) -> None:
    (workspace.area.root / "ana" / "data").write_bytes(data)

    assert refused(workspace, Edit("x", "", 1, 0), path="data").kind == kind
    with pytest.raises(WorkspaceError):
        workspace.page("data", 1, None)


def test_bytes_that_would_be_lost_are_not_guessed(workspace: Workspace) -> None:
    (workspace.area.root / "ana" / "latin").write_bytes(b"x \xe9 y \xe8 z\n")

    error = refused(workspace, Edit("a \ufffd b \ufffd c", "x \ufffd y \ufffd z"), path="latin")

    assert error.kind == "not_text"
    assert "separate changes" in str(error)


def test_sizes_are_limited(workspace: Workspace, seven: Path) -> None:
    edit = Edit("x", "", 1, 0)
    for files in (
        [FileEdits(f"{n}.txt", (edit,), create=True) for n in range(MAX_FILES + 1)],
        [FileEdits("seven.py", (edit,) * (MAX_EDITS + 1))],
        [FileEdits("seven.py", (Edit("x" * MAX_FILE_BYTES, "", 1, 0),))],
        [
            FileEdits(f"{n}.txt", (Edit("x" * (MAX_FILE_BYTES - 1), ""),), create=True)
            for n in range(6)
        ],
    ):
        with pytest.raises(WorkspaceError) as caught:
            workspace.patch(files, waiting)
        assert caught.value.kind == "invalid_arguments"
    assert [path.name for path in (workspace.area.root / "ana").iterdir()] == [seven.name]


@pytest.mark.parametrize(
    ("old", "line"),
    [
        ("x\n" * 20_000, "x"),
        ("a b c d e f g " * 8 + "\n", "a b c d e f g " * 8 + "?"),
        ("y\n" * 20_000, "x"),
        ("ab" * 4_000, "ba" * 4_000),
    ],
    ids=["equal lines", "alike lines", "other lines", "long lines"],
)
def test_hints_for_hostile_files_come_quickly(workspace: Workspace, old: str, line: str) -> None:
    lines = min(40_000, MAX_FILE_BYTES // (len(line) + 1) - 1)
    (workspace.area.root / "ana" / "big").write_text(f"{line}\n" * lines)
    started = time.perf_counter()

    with pytest.raises(WorkspaceError) as caught:
        patched(workspace, "big", *[Edit("z", f"{old}!", 1, 2)] * MAX_EDITS)

    assert caught.value.kind == "content_mismatch"
    assert time.perf_counter() - started < 8


def test_no_edit_breaks_the_engine(workspace: Workspace, tmp_path: Path) -> None:
    """Whatever numbers and texts come, the answer is a patch or a refusal."""
    chance = random.Random(1)  # noqa: S311 - no secret
    texts = ["", "\n", "\r\n", "a", "b\n", "\ufeffa", "\r", "a\nb", "\ufffd", "é\u2028"]
    outcomes: set[str] = set()
    for _ in range(2_000):
        content = "".join(chance.choice(texts) for _ in range(chance.randrange(6)))
        path = tmp_path / "ana" / "any"
        path.write_bytes(content.encode() + chance.choice([b"", b"\xff\n", b"\n"]))
        before = path.read_bytes()
        edits = [
            Edit(
                chance.choice(texts),
                chance.choice(texts),
                chance.choice([None, *range(-1, 6)]),
                chance.choice([None, *range(-1, 6)]),
            )
            for _ in range(chance.randrange(1, 3))
        ]
        try:
            outcomes.add(patched(workspace, "any", *edits, dry_run=True).files[0].status)
        except WorkspaceError as error:
            outcomes.add(error.kind)
        assert path.read_bytes() == before
    assert outcomes >= {"changed", "unchanged", "content_mismatch", "invalid_range"}
