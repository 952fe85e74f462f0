"""Limits of the files that models read and change."""

from collections.abc import Callable
from os import environ
from pathlib import Path
from tempfile import TemporaryDirectory

from boundaries.rows.forms import Check
from heddle_tools_service.capabilities.workspace import Edit, FileEdits, FileQuery
from heddle_tools_service.workspace import (
    engine,
    globs,
    hints,
    jail,
    paths,
    planning,
    state,
)
from heddle_tools_service.workspace.jail import Jail


def _in_folder(check: Callable[[Path, int], object]) -> Check:
    def checked(size: int) -> object:
        with TemporaryDirectory(dir=environ.get("PYTEST_DEBUG_TEMPROOT")) as folder:
            return check(Path(folder), size)

    return checked


def _area(folder: Path) -> Jail:
    (folder / "ana").mkdir()
    return Jail(folder, ("ana",))


def _planned(folder: Path, *files: FileEdits) -> None:
    planning.plan(_area(folder), files, relocate=False)


def _new(name: str, size: int) -> FileEdits:
    return FileEdits(name, (Edit("x" * size, ""),), create=True)


def _files(folder: Path, count: int) -> None:
    _planned(folder, *(_new(str(number), 1) for number in range(count)))


def _edits(folder: Path, count: int) -> None:
    area = _area(folder)
    (folder / "ana" / "a").write_text("".join(f"line {number}\n" for number in range(count)))
    edits = tuple(Edit(f"{n}\n", f"line {n}\n", n + 1, n + 1) for n in range(count))
    planning.plan(area, [FileEdits("a", edits)], relocate=False)


def _patch(folder: Path, size: int) -> None:
    parts, rest = divmod(size, 1_000_000)
    sizes = [1_000_000] * parts + [rest] * bool(rest)
    _planned(folder, *(_new(f"f{number}", each) for number, each in enumerate(sizes)))


def _read(folder: Path, size: int) -> None:
    area = _area(folder)
    (folder / "ana" / "a").write_bytes(bytes(size))
    with area.folder() as descriptor:
        jail.read(descriptor, "a", "a")


def _backups(folder: Path, *sizes: int) -> bool:
    """Return whether backups are removed."""
    its_state = state.State(folder)
    its_state.journal.mkdir()
    for number, size in enumerate(sizes):
        backup = folder / "backups" / f"{number:04}"
        backup.mkdir(parents=True)
        (backup / "record.json").touch()
        with (backup / "0").open("wb") as file:
            file.truncate(size)
    its_state.prune()
    return len(list((folder / "backups").iterdir())) < len(sizes)


def _visited(folder: Path, count: int) -> str:
    area = _area(folder)
    for number in range(count):
        (folder / "ana" / str(number)).touch()
    return engine.listed(area, "", "", 1, count + 1).cut


def _searched(size: int) -> str:
    budget = engine._Budget()
    cuts = [budget.spent(each) for each in [2_000_000] * (size // 2_000_000) + [size % 2_000_000]]
    return cuts[-1]


def _line(folder: Path, size: int) -> bool:
    area = _area(folder)
    (folder / "ana" / "a").write_text("x" * (size - 1) + "y")
    return not engine.searched(area, FileQuery("y")).matches


def _query(folder: Path, size: int) -> None:
    engine.searched(_area(folder), FileQuery("x" * size))


_WORKSPACE = "heddle_tools_service.workspace"
_LIMITS = f"{_WORKSPACE}.limits"
ROWS: dict[str, Check] = {
    f"{_LIMITS}.MAX_FILES": _in_folder(_files),
    f"{_LIMITS}.MAX_EDITS": _in_folder(_edits),
    f"{_LIMITS}.MAX_PATCH_BYTES": _in_folder(_patch),
    f"{_LIMITS}.MAX_FILE_BYTES": _in_folder(_read),
    f"{_LIMITS}.MAX_BACKUPS": _in_folder(lambda folder, n: _backups(folder, *[0] * n)),
    f"{_LIMITS}.MAX_BACKUPS_BYTES": _in_folder(lambda folder, n: _backups(folder, n - 1, 1)),
    f"{_LIMITS}.MAX_VISITED": _in_folder(_visited),
    f"{_LIMITS}.MAX_SEARCH_BYTES": _searched,
    f"{_WORKSPACE}.globs._MAX_GLOB_CHARS": lambda n: globs.matcher("x" * n) is None,
    f"{_WORKSPACE}.hints.MAX_PLACES": lambda n: len(hints.places(["a"] * n, ["a"])) < n,
    f"{_WORKSPACE}.hints._MAX_SHOWN": lambda n: "more" in hints.numbered(["a"] * n, 0, n)[-1],
    f"{_WORKSPACE}.paths._MAX_PATH_CHARS": lambda n: paths.components("x" * n) and None,
    f"{_WORKSPACE}.engine._MAX_PATTERN_CHARS": _in_folder(_query),
    f"{_WORKSPACE}.engine._MAX_LINE_CHARS": _in_folder(_line),
}
