"""`heddle_runtime.serving.plugins`."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest
from heddle_runtime.serving.plugins import Plugins, discover
from structlog.testing import capture_logs


@dataclass
class Thing:
    name: str


def things(module: ModuleType) -> Iterable[Thing]:
    found = getattr(module, "THING", None)
    return [] if found is None else [Thing(found)]


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Plugins[Thing]]:
    files = {
        "a_first.py": "THING = 'first'",
        "b_again.py": "THING = 'first'",
        "c_broken.py": "def",
        "d_exits.py": "import sys; sys.exit(3)",
        "e_raises.py": "raise RuntimeError('no such library')",
        "f_empty.py": "",
        "knowledge_base.py": "THING = 'knowledge'",
        "_private.py": "THING = 'private'",
    }
    folder = tmp_path / "database" / "base"
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    package = tmp_path / "things_builtin"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "one.py").write_text("THING = 'builtin'")
    monkeypatch.syspath_prepend(str(tmp_path))
    module = __import__("things_builtin")
    yield discover(module, "heddle.nothing", folder, things)
    for name in [name for name in sys.modules if name.startswith(("heddle.nothing", "things_"))]:
        del sys.modules[name]


def test_good_plugins_load_beside_broken_ones(found: Plugins[Thing]) -> None:
    assert list(found.loaded) == ["builtin", "first", "knowledge"]
    assert found.origins["knowledge"] == "folder:knowledge_base.py"


def test_each_broken_one_is_reported_with_its_file(found: Plugins[Thing]) -> None:
    problems = {problem.origin: problem.message for problem in found.problems}

    assert set(problems) == {
        f"folder:{name}.py" for name in ("b_again", "c_broken", "d_exits", "e_raises", "f_empty")
    }
    assert "no such library" in problems["folder:e_raises.py"]
    assert "folder:a_first.py" in problems["folder:b_again.py"]


def test_files_of_one_name_are_two_modules_for_two_kinds_of_plugins(tmp_path: Path) -> None:
    package = ModuleType("no_builtin_things")
    package.__path__ = []
    loaded = []

    def classes(module: ModuleType) -> Iterable[Thing]:
        loaded.append(module)
        return [Thing(module.__name__)]

    for kind in ("wefts", "warps"):
        (tmp_path / kind).mkdir()
        (tmp_path / kind / "wool.py").write_text(f"KIND = {kind!r}")
        discover(package, f"heddle.{kind}", tmp_path / kind, classes)

    assert [sys.modules.pop(module.__name__) for module in loaded] == loaded
    assert [module.KIND for module in loaded] == ["wefts", "warps"]


def test_a_folder_that_is_not_there_is_reported(tmp_path: Path) -> None:
    package = ModuleType("no_builtin_things")
    package.__path__ = []

    [problem] = discover(package, "heddle.nothing", tmp_path / "x", things).problems

    assert problem.origin == f"folder:{tmp_path / 'x'}"
    assert problem.message.startswith("There is no such folder.")


def test_a_syntax_error_is_one_warning_in_the_log(tmp_path: Path) -> None:
    package = ModuleType("no_builtin_things")
    package.__path__ = []
    (tmp_path / "wool.py").write_text("def (")

    with capture_logs() as logs:
        discover(package, "heddle.nothing", tmp_path, things)

    [entry] = logs
    assert (entry["event"], entry["log_level"]) == ("plugin skipped", "warning")
    assert entry["origin"] == "folder:wool.py"
    assert entry["problem"].startswith("SyntaxError: ")


def test_helpers_of_one_name_beside_plugins_of_two_folders_do_not_collide(tmp_path: Path) -> None:
    package = ModuleType("no_builtin_things")
    package.__path__ = []
    names: list[str] = []
    for folder in ("wefts", "warps"):
        (tmp_path / folder / "_shared").mkdir(parents=True)
        (tmp_path / folder / "_shared" / "__init__.py").write_text("")
        (tmp_path / folder / "_shared" / "depth.py").write_text("DEPTH = 1")
        (tmp_path / folder / "_helper.py").write_text(
            f"from ._shared.depth import DEPTH\nNAME = {folder!r} + str(DEPTH)"
        )
        (tmp_path / folder / "wool.py").write_text("from ._helper import NAME as THING")
        names += discover(package, "heddle.nothing", tmp_path / folder, things).loaded

    assert names == ["wefts1", "warps1"]


def test_a_changed_helper_counts_when_plugins_are_loaded_again(tmp_path: Path) -> None:
    package = ModuleType("no_builtin_things")
    package.__path__ = []
    (tmp_path / "wool.py").write_text("from ._helper import NAME as THING")
    for name in ("red", "yellow"):
        (tmp_path / "_helper.py").write_text(f"NAME = {name!r}")
        assert list(discover(package, "heddle.nothing", tmp_path, things).loaded) == [name]


def test_an_absolute_import_of_a_helper_is_reported_with_the_remedy(tmp_path: Path) -> None:
    package = ModuleType("no_builtin_things")
    package.__path__ = []
    (tmp_path / "_helper.py").write_text("")
    (tmp_path / "wool.py").write_text("import _helper")

    [problem] = discover(package, "heddle.nothing", tmp_path, things).problems

    assert problem.message.endswith("with `from ._helper import ...`.")


def test_the_reason_why_a_plugin_does_not_load_contains_no_secret(tmp_path: Path) -> None:
    package = ModuleType("no_builtin_things")
    package.__path__ = []
    (tmp_path / "wool.py").write_text("raise ValueError('password=hunter2 is wrong')")

    [problem] = discover(package, "heddle.nothing", tmp_path, things).problems

    assert problem.message == "ValueError: password=[redacted] is wrong"
