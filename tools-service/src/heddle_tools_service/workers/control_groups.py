"""Limits the memory and the threads of plugins' processes with control groups, where it may.

The limits of `confinement` count the memory that a process reserves. A control group counts what
it uses, also what the kernel uses for it. Both versions are used: with version 1 the controllers
`memory` and `pids` have a tree each, with version 2 they share one.
"""

import asyncio
import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import structlog

log = structlog.get_logger(__name__)
MAX_THREADS = 128
_PREFIX = "heddle-plugins-"
_CONTROLLERS = ("memory", "pids")
_UNIFIED = 2
"""The version in which the controllers share one tree."""
_numbers = itertools.count()
_ATTEMPTS, _PAUSE_SECONDS = 20, 0.05
_MEMORY_LIMITS = {
    1: ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"),
    2: ("memory.max", "memory.swap.max"),
}


@dataclass(frozen=True, slots=True)
class Tree:
    """A folder of control groups in which the service may create others."""

    folder: Path
    version: int
    controllers: tuple[str, ...]


class ControlGroups:
    """The control groups of plugins' processes, one for each process."""

    def __init__(self, trees: Sequence[Tree], memory_bytes: int) -> None:
        """Remove what an earlier service left, and create no group yet.

        Args:
            trees: The trees in which to create groups; none if the service may not.
            memory_bytes: The memory that each process may use.
        """
        self._trees = trees
        self._memory_bytes = memory_bytes
        name = f"{_PREFIX}{os.getpid()}-{next(_numbers)}"
        self._folders = [tree.folder / name for tree in trees]
        for tree in trees:
            for left in tree.folder.glob(f"{_PREFIX}*"):
                if not Path("/proc", left.name.removeprefix(_PREFIX).partition("-")[0]).exists():
                    _remove(left)

    @property
    def controllers(self) -> list[str]:
        """The controllers that limit processes, each with its version, for the log."""
        return [f"{name} v{tree.version}" for tree in self._trees for name in tree.controllers]

    def limit(self, process: int) -> None:
        """Put a process into a group of its own. A failure is logged: other limits remain."""
        for tree, folder in zip(self._trees, self._folders, strict=True):
            try:
                folder.mkdir(exist_ok=True)
                if tree.version == _UNIFIED:
                    (folder / "cgroup.subtree_control").write_text(_enabling(tree.controllers))
                _limit(tree, folder / str(process), process, self._memory_bytes)
            except OSError as error:
                log.warning("process in no control group", process=process, problem=str(error))

    def forget(self, process: int) -> None:
        """Remove the group of a process that has ended."""
        for folder in self._folders:
            with suppress(OSError):  # the process is about to end; `close` tries again
                (folder / str(process)).rmdir()

    async def close(self) -> None:
        """Remove all groups, after their processes have ended."""
        for _ in range(_ATTEMPTS):
            for folder in self._folders:
                _remove(folder)
            if not any(folder.exists() for folder in self._folders):
                return
            await asyncio.sleep(_PAUSE_SECONDS)


def writable_trees(groups: str, mounts: str) -> list[Tree]:
    """Return the trees in which this process may create control groups, if there are any.

    Args:
        groups: The text of `/proc/self/cgroup`.
        mounts: The text of `/proc/self/mountinfo`.
    """
    own = dict(_own_groups(groups))
    trees: dict[Path, Tree] = {}
    for root, place, kind, options in _mounts(mounts):
        version = {"cgroup": 1, "cgroup2": 2}.get(kind)
        if version is None:
            continue
        names = _CONTROLLERS if version == _UNIFIED else tuple(options & set(_CONTROLLERS))
        path = own.get("" if version == _UNIFIED else next(iter(names), "none"))
        if path is None or not names:
            continue
        folder = place / os.path.relpath(path, root)
        if os.access(folder, os.W_OK) and (version == 1 or _delegates(folder)):
            trees[folder] = Tree(folder, version, tuple(sorted(names)))
    return list(trees.values())


def own_trees() -> list[Tree]:
    """Return the trees in which this process may create control groups, from `/proc`."""
    try:
        texts = [Path(f"/proc/self/{name}").read_text() for name in ("cgroup", "mountinfo")]
    except OSError:  # no Linux
        return []
    return writable_trees(*texts)


def _own_groups(text: str) -> Iterator[tuple[str, str]]:
    """Yield the path of this process's group for each controller, and for "" that of version 2."""
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2)
        for name in controllers.split(","):
            yield name, path


def _mounts(text: str) -> Iterator[tuple[str, Path, str, set[str]]]:
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        yield before.split(" ")[3], Path(before.split(" ")[4]), kind, set(options.split(","))


def _delegates(folder: Path) -> bool:
    """Let the groups in a folder have the controllers; return whether they can.

    The kernel refuses this for a group that has processes. If these are this process alone, it
    moves into a group beside those of the plugins.
    """
    try:
        members = (folder / "cgroup.procs").read_text().split()
        if members == [str(os.getpid())]:
            service = folder / "heddle-service"
            service.mkdir(exist_ok=True)
            (service / "cgroup.procs").write_text(str(os.getpid()))
        (folder / "cgroup.subtree_control").write_text(_enabling(_CONTROLLERS))
    except OSError:
        return False
    return True


def _limit(tree: Tree, group: Path, process: int, memory_bytes: int) -> None:
    group.mkdir()
    for name, value in _limits(tree, memory_bytes).items():
        # Without accounting of swap the kernel has no limit for it.
        if (group / name).exists():
            (group / name).write_text(str(value))
    (group / "cgroup.procs").write_text(str(process))


def _limits(tree: Tree, memory_bytes: int) -> Mapping[str, int]:
    limits: dict[str, int] = {}
    if "memory" in tree.controllers:
        memory, swap = _MEMORY_LIMITS[tree.version]
        # Version 1 limits the sum of memory and swap.
        limits |= {memory: memory_bytes, swap: memory_bytes if tree.version == 1 else 0}
    if "pids" in tree.controllers:
        limits["pids.max"] = MAX_THREADS
    return limits


def _remove(folder: Path) -> None:
    for group in [*folder.glob("*/"), folder]:
        with suppress(OSError):  # it has processes
            group.rmdir()


def _enabling(controllers: Sequence[str]) -> str:
    return " ".join(f"+{name}" for name in controllers)
