"""Patches four files at once in processes that are killed on the way, and looks what is left.

Half of the processes are killed at one of their steps, each at another one: a hook counts what
Python does to files. The others are killed after a random time. Prints what was found, as JSON.
"""

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

from heddle_tools_service.capabilities.workspace import Edit, FileEdits
from heddle_tools_service.workspace.engine import Workspace
from tools_service.workspace.areas import left_over, patched, waiting, workspace_in

TIMINGS = 5
"""Undisturbed runs whose median is the time of one."""
TIMED = 10
"""Rounds between two of them: the speed of a shared machine changes."""
FILES = ("a.txt", "b.txt", "src/c.txt", "src/deep/d.txt")
STEPS = ("open", "os.rename", "os.link", "os.remove", "os.mkdir", "os.rmdir", "shutil.rmtree")


def patch(workspace: Workspace, old: int) -> None:
    """Move all files from one version to the next, and make one."""
    change = (Edit(f"version {old + 1}", f"version {old}", 2, 2, "next"),)
    made = FileEdits(f"made/{old}/new.txt", (Edit("new\n", ""),), create=True)
    workspace.patch([*(FileEdits(path, change) for path in FILES), made], waiting)


def steps_until_death(last: int) -> Callable[[str, object], None]:
    """Return an audit hook that kills the process at its `last` step."""
    seen = 0

    def hook(event: str, _: object) -> None:
        nonlocal seen
        if event in STEPS:
            seen += 1
            if seen == last:
                os.kill(os.getpid(), signal.SIGKILL)

    return hook


def seconds_of(work: Callable[[], None]) -> float:
    """Run `work` in a process that is not killed, and return how long that takes."""
    started = time.perf_counter()
    kill(work, None, 0)
    return time.perf_counter() - started


def kill(work: Callable[[], None], after: float | None, step: int) -> None:
    """Run `work` in a process that is killed after a time, or at a step if one is named."""
    child = os.fork()
    if not child:
        if step:
            sys.addaudithook(steps_until_death(step))
        work()
        os._exit(0)
    if after is not None and not step:
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def versions(folder: Path, old: int) -> set[int]:
    """Return the versions that the files have, and what the made one stands for."""
    found = {int((folder / "ana" / path).read_text().split()[2]) for path in FILES}
    return found | {old + 1 if (folder / "ana" / f"made/{old}/new.txt").exists() else old}


def main(folder: Path, rounds: int) -> None:
    """Run all rounds and print a summary."""
    workspace = workspace_in(folder)
    for path in FILES:
        (folder / "ana" / path).parent.mkdir(exist_ok=True)
        (folder / "ana" / path).write_text("first\nversion 0\nlast\n")
    (folder / "ana" / "other.txt").touch()
    version = 0
    times: list[float] = []
    chance = random.Random(4)  # noqa: S311 - no secret
    summary = dict.fromkeys(("old", "new", "torn", "found broken off", "left over"), 0)
    for number in range(rounds):
        while len(times) < TIMINGS + number // TIMED:
            times.append(seconds_of(partial(patch, workspace, version)))
            version += 1
        step = 1 + number // 2 if number % 2 else 0
        after = chance.uniform(0, 1.5 * median(times[-TIMINGS:]))
        kill(partial(patch, workspace, version), after, step)
        summary["found broken off"] += bool(workspace.state.abandoned())
        if number % 3:  # whoever comes next puts it right
            workspace.page(FILES[0], 1, None)
        else:
            patched(workspace, "other.txt", Edit("x", "", 1, 0))
        found = versions(folder, version)
        summary["torn"] += len(found) > 1
        summary["new" if found == {version + 1} else "old"] += 1
        summary["left over"] += len(left_over(folder))
        version = max(found)
    print(json.dumps(summary))  # noqa: T201 - what the test reads


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
