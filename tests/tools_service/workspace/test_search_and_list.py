"""Searches and lists: what they find, what they leave out, and that they say so."""

import os
import time
from pathlib import Path

import pytest
from heddle_tools_service.capabilities.workspace import FileQuery, Matches
from heddle_tools_service.workspace import engine, limits
from heddle_tools_service.workspace.engine import Workspace
from heddle_tools_service.workspace.errors import WorkspaceError
from heddle_tools_service.workspace.limits import MAX_FILE_BYTES
from tools_service.workspace.areas import workspace_in

FILES = {
    "README.md": "# Looms\nA heddle.\n",
    "src/a.py": "def heddle():\r\n    return 'HEDDLE'\r\n",
    "src/deep/b.py": "x = 1  # heddle?\n",
    "src/deep/c.txt": "heddle heddle\n",
    "src/.hidden.py": "heddle\n",
}


@pytest.fixture
def filled(workspace: Workspace) -> Workspace:
    for path, text in FILES.items():
        file = workspace.area.root / "ana" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
    return workspace


def where(found: Matches) -> list[str]:
    return [f"{match.path}:{match.line}" for match in found.matches]


ALL = ["README.md:2", "src/.hidden.py:1", "src/a.py:1", "src/deep/b.py:1", "src/deep/c.txt:1"]


@pytest.mark.parametrize(
    ("query", "places"),
    [
        (FileQuery("heddle"), ALL),
        (FileQuery("heddle", case_sensitive=False), [*ALL[:3], "src/a.py:2", *ALL[3:]]),
        (FileQuery("heddle", pattern="*.py"), [ALL[1], ALL[2], ALL[3]]),
        (FileQuery("heddle", pattern="src/*.py"), [ALL[1], ALL[2]]),
        (FileQuery("heddle", pattern="src/**/*.py"), [ALL[1], ALL[2], ALL[3]]),
        (FileQuery("heddle", pattern="**/?.txt"), [ALL[4]]),
        (FileQuery("heddle", folder="src/deep"), [ALL[3], ALL[4]]),
        (FileQuery("heddle", folder="src/"), ALL[1:]),
        (FileQuery(r"^def \w+\(\):$", regex=True), ["src/a.py:1"]),
        (FileQuery("heddle?"), ["src/deep/b.py:1"]),
        (FileQuery("heddle.$", regex=True), [ALL[0], ALL[3]]),
        (FileQuery("^#", regex=True), ["README.md:1"]),
        (FileQuery("nowhere"), []),
    ],
)
def test_what_is_found(filled: Workspace, query: FileQuery, places: list[str]) -> None:
    found = filled.search(query)

    assert where(found) == places
    assert found.cut == ""
    assert [match.text for match in found.matches if match.path == "README.md"] in (
        [],
        ["A heddle."],
        ["# Looms"],
    )


@pytest.mark.parametrize(
    ("query", "word"),
    [
        (FileQuery(""), "1 to 1,000 characters"),
        (FileQuery("a\nb"), "one line"),
        (FileQuery("x" * 1_001), "1 to 1,000 characters"),
        (FileQuery("(", regex=True), "not a regular expression"),
        (FileQuery("(?<=a)b", regex=True), "look-around are not supported"),
        (FileQuery(r"(a)\1", regex=True), "Backreferences"),
        (FileQuery("a{1000}{1000}", regex=True), "not a regular expression"),
        (FileQuery("a", pattern="*" * 501), "at most 500 characters"),
    ],
)
def test_what_cannot_be_searched_for_is_told(
    filled: Workspace, query: FileQuery, word: str
) -> None:
    with pytest.raises(WorkspaceError, match=word) as caught:
        filled.search(query)
    assert caught.value.kind == "invalid_arguments"


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*$", "(.*a){20}$", "^(a?){50}a{50}$"])
def test_time_grows_with_the_text_and_nothing_else(workspace: Workspace, pattern: str) -> None:
    (workspace.area.root / "ana" / "a.txt").write_text("a" * 19_000 + "b\n" + "a" * 40 + "!\n")
    started = time.thread_time()

    workspace.search(FileQuery(pattern, regex=True))

    assert time.thread_time() - started < 1


def test_a_glob_of_many_stars_is_quick(workspace: Workspace) -> None:
    (workspace.area.root / "ana" / ("a" * 200)).write_text("x")
    started = time.thread_time()

    assert workspace.list("", "*a" * 60 + "b", 9, 9).entries == ()

    assert time.thread_time() - started < 1


def test_results_are_cut_and_it_is_told(filled: Workspace) -> None:
    found = filled.search(FileQuery("heddle", most=2))

    assert where(found) == ALL[:2]
    assert found.cut == "only the first 2 are shown"
    assert filled.search(FileQuery("heddle", most=5)).cut == ""


def test_long_lines_are_cut_and_other_files_skipped(filled: Workspace) -> None:
    root = filled.area.root / "ana"
    (root / "long.txt").write_text("heddle" + "x" * 1_000)
    (root / "binary").write_bytes(b"heddle\0")
    (root / "huge").write_bytes(b"heddle\n" + b"x" * MAX_FILE_BYTES)
    os.mkfifo(root / "pipe")

    found = filled.search(FileQuery("heddle"))

    [line] = [match.text for match in found.matches if match.path == "long.txt"]
    assert len(line) == 301
    assert found.skipped == 2
    assert found.files == 6


def test_what_comes_late_in_a_very_long_line_is_not_found_and_that_is_told(
    filled: Workspace,
) -> None:
    (filled.area.root / "ana" / "minified.js").write_text(f"{'x' * 20_000}heddle\n")

    found = filled.search(FileQuery("heddle"))

    assert where(found) == ALL
    assert found.cut == "of long lines, the first 20,000 characters were searched"


def test_a_search_that_takes_too_long_ends_and_says_so(
    filled: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value, words in (
        ("MAX_SEARCH_SECONDS", -1.0, "ended after"),
        ("MAX_SEARCH_BYTES", 30, "first 30 bytes"),
        ("MAX_VISITED", 2, "were looked at"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(limits, name, value)
            assert words in filled.search(FileQuery("heddle")).cut


def test_files_that_the_glob_leaves_out_do_not_count(
    filled: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    (filled.area.root / "ana" / "data.bin").write_bytes(b"\0" * 5_000)
    monkeypatch.setattr(limits, "MAX_SEARCH_BYTES", 4_000)

    assert filled.search(FileQuery("heddle", pattern="*.py")).cut == ""
    assert filled.search(FileQuery("heddle")).cut == "only the first 4,000 bytes were searched"


def test_a_folder_is_listed_with_what_is_below(filled: Workspace) -> None:
    listing = filled.list("", "", 9, 100)

    assert [entry.path for entry in listing.entries] == [
        *("README.md", "src", "src/.hidden.py", "src/a.py"),
        *("src/deep", "src/deep/b.py", "src/deep/c.txt"),
    ]
    assert [entry.folder for entry in listing.entries].count(True) == 2
    assert listing.entries[0].size == len(FILES["README.md"])
    assert listing.cut == ""


def test_depth_pattern_and_number_limit_a_list(
    filled: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def paths(*arguments: object) -> list[str]:
        return [entry.path for entry in filled.list(*arguments).entries]  # type: ignore[arg-type] # spelled out below

    assert paths("", "", 1, 100) == ["README.md", "src"]
    assert paths("src", "", 1, 100) == ["src/.hidden.py", "src/a.py", "src/deep"]
    assert paths("", "*.py", 9, 100) == ["src/.hidden.py", "src/a.py", "src/deep/b.py"]
    assert paths("", "src/*/*", 9, 100) == ["src/deep/b.py", "src/deep/c.txt"]
    assert filled.list("", "", 9, 3).cut == "only the first 3 are shown"
    monkeypatch.setattr(engine, "MAX_VISITED", 3)
    assert "were looked at" in filled.list("", "", 9, 100).cut


def test_an_empty_workspace_is_no_mistake_but_an_absent_folder_is(tmp_path: Path) -> None:
    empty = workspace_in(tmp_path)
    (tmp_path / "ana").rmdir()

    assert empty.list("", "", 9, 9).entries == ()
    assert empty.search(FileQuery("x")).matches == ()
    with pytest.raises(WorkspaceError) as caught:
        empty.list("absent", "", 9, 9)
    assert caught.value.kind == "not_found"


def test_pages_of_a_file(filled: Workspace) -> None:
    page = filled.page("src/a.py", 2, 2)
    assert page.lines == ("    return 'HEDDLE'",)
    assert (page.total, page.first, page.line_end, page.final_newline) == (2, 2, "CRLF", True)
    assert filled.page("src/a.py", 1, 99).lines[0] == "def heddle():"
    for first, last in ((3, None), (2, 1)):
        with pytest.raises(WorkspaceError) as caught:
            filled.page("src/a.py", first, last)
        assert caught.value.kind == "invalid_range"
    (filled.area.root / "ana" / "empty").touch()
    assert filled.page("empty", 1, None).lines == ()
