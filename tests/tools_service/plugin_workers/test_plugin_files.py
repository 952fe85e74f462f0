"""Owner, mode and hash of plugins' files."""

import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.identity.call_metadata import new_call_options
from runtime.examples import sampled
from tools_service.test_app import serving, settings

SOURCE = '''
from heddle_tools_service.sdk import ToolResult, tool
from ._words import WORD

@tool("{name}", title="Says")
async def say(call):
    """Says a word."""
    return ToolResult(WORD)
'''
HELPER = "WORD = 'hello'\n"


async def loaded(folder: Path, **more: object) -> tuple[set[str], dict[str, str]]:
    """Return the names of the plugins' tools that the service lists, and the problems."""
    async with serving(settings(folder, plugins_dir=folder / "plugins", **more)) as (client, _):
        listed = await client.stub.ListTools(
            pb.ListToolsRequest(page_size=200), **new_call_options(5)
        )
    names = {tool.name for tool in listed.tools if tool.origin != "builtin"}
    return names, {problem.origin: problem.message for problem in listed.problems}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    plugins = tmp_path / "plugins"
    plugins.mkdir(mode=0o755)
    for name, text in (
        ("one.py", SOURCE.format(name="one")),
        ("two.py", SOURCE.format(name="two")),
        ("_words.py", HELPER),
    ):
        (plugins / name).write_text(text)
        (plugins / name).chmod(0o644)
    return tmp_path


def digest(file: Path) -> str:
    return sha256(file.read_bytes()).hexdigest()


def owned_by_another(file: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    os.chown(file, 12345, -1)


@pytest.mark.parametrize(
    ("change", "name", "left", "remedy"),
    sampled(
        [
            (lambda file: file.chmod(0o666), "one.py", {"two"}, "chmod go-w"),
            (owned_by_another, "one.py", {"two"}, "Change its owner with chown"),
            (owned_by_another, "", set(), "Change its owner with chown"),
            (lambda file: file.chmod(0o666), "_words.py", set(), "chmod go-w"),
            (lambda file: file.chmod(0o777), "", set(), "chmod go-w"),
        ],
        2,
    ),
)
async def test_files_that_others_can_write_are_not_loaded(
    folder: Path, change: Callable[[Path], None], name: str, left: set[str], remedy: str
) -> None:
    change(folder / "plugins" / name)
    names, problems = await loaded(folder)

    assert names == left
    assert len(problems) == 2 - len(left)
    assert all(remedy in each for each in problems.values())


async def test_only_files_with_their_hash_are_loaded(folder: Path) -> None:
    plugins = folder / "plugins"
    hashes = {name: digest(plugins / name) for name in ("one.py", "_words.py")}
    names, problems = await loaded(folder, plugin_hashes=hashes)
    assert names == {"one"}
    assert "has no hash for two.py" in problems["folder:two.py"]

    with (plugins / "one.py").open("a") as file:
        file.write("# changed\n")
    names, problems = await loaded(folder, plugin_hashes=hashes)
    assert names == set()
    assert digest(plugins / "one.py") in problems["folder:one.py"]
