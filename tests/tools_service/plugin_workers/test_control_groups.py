"""The control groups of plugins' processes, in this machine's trees and in those of version 2."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from heddle_tools_service.workers.control_groups import (
    MAX_THREADS,
    ControlGroups,
    Tree,
    own_trees,
    writable_trees,
)
from tools_service.plugin_workers.test_plugins import plugins
from tools_service.serving import said as conversation

MEMORY_MB = 256


def groups_of_this_test() -> Iterator[Path]:
    for tree in own_trees():
        yield from tree.folder.glob(f"heddle-plugins-{os.getpid()}-*/*/")


@pytest.mark.exhaustive
@pytest.mark.skipif(not own_trees(), reason="this user may create no control groups")
async def test_each_process_has_a_group_that_is_removed_after_it(tmp_path: Path) -> None:
    async with plugins(tmp_path, plugin_memory_mb=MEMORY_MB) as client:
        await client.run("greet", {}, conversation("?"))
        limits = {
            file.name: int(file.read_text())
            for group in groups_of_this_test()
            for file in group.glob("*")
            if file.name in ("memory.limit_in_bytes", "memory.max", "pids.max")
        }
        [process] = {(group / "cgroup.procs").read_text() for group in groups_of_this_test()}
        with pytest.raises(Exception, match="has ended"):
            await client.run("ends", {}, conversation("?"))
        await client.run("greet", {}, conversation("?"))
        replaced = {(group / "cgroup.procs").read_text() for group in groups_of_this_test()}

    assert limits.pop("pids.max") == MAX_THREADS
    assert list(limits.values()) == [MEMORY_MB * 1024 * 1024]
    assert process not in replaced
    assert list(groups_of_this_test()) == []


async def test_a_group_of_version_2_has_its_controllers_and_limits(tmp_path: Path) -> None:
    (tmp_path / "service").mkdir()
    (tmp_path / "service" / "cgroup.procs").write_text("")
    mounts = f"30 20 0:26 / {tmp_path} rw - cgroup2 cgroup2 rw,nsdelegate\n"
    [tree] = writable_trees("0::/service\n", mounts)

    assert tree == Tree(tmp_path / "service", 2, ("memory", "pids"))
    assert (tree.folder / "cgroup.subtree_control").read_text() == "+memory +pids"
    groups = ControlGroups([tree], 1_000)
    assert groups.controllers == ["memory v2", "pids v2"]
    groups.limit(17)
    [group] = tree.folder.glob("heddle-plugins-*/17")
    assert (group / "cgroup.procs").read_text() == "17"
    assert (group.parent / "cgroup.subtree_control").read_text() == "+memory +pids"


async def test_trees_of_version_1_are_those_of_their_controllers(tmp_path: Path) -> None:
    for name in ("memory", "pids", "cpu"):
        (tmp_path / name / "heddle").mkdir(parents=True)
    mounts = "".join(
        f"30 20 0:26 / {tmp_path}/{name} rw - cgroup cgroup rw,{name}\n"
        for name in ("memory", "pids", "cpu")
    )
    trees = writable_trees("3:memory:/heddle\n2:pids:/heddle\n1:cpu:/heddle\n", mounts)

    assert [(tree.folder, tree.controllers) for tree in trees] == [
        (tmp_path / name / "heddle", (name,)) for name in ("memory", "pids")
    ]


@pytest.mark.skipif(not own_trees(), reason="this user may create no control groups")
async def test_groups_of_a_service_that_was_killed_are_removed() -> None:
    tree = own_trees()[0]
    left = tree.folder / "heddle-plugins-999999999-0"
    (left / "1").mkdir(parents=True)
    ControlGroups([tree], 1_000)
    await asyncio.sleep(0)

    assert not left.exists()
