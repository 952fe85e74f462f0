"""Patches two files, and stops for good when the first one is replaced and the second is not."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from heddle_tools_service.capabilities.workspace import Edit, FileEdits
from tools_service.workspace.areas import waiting, workspace_in

BEFORE_THE_SECOND_FILE = 3  # the first renaming finishes the note in the journal


def stop_at_rename(last: int) -> Callable[[str, object], None]:
    """Return an audit hook that says so and stops the process."""
    seen = 0

    def hook(event: str, _: object) -> None:
        nonlocal seen
        if event == "os.rename":
            seen += 1
            if seen == last:
                os.write(1, b"stopped\n")
                os.kill(os.getpid(), signal.SIGSTOP)

    return hook


if __name__ == "__main__":
    sys.addaudithook(stop_at_rename(BEFORE_THE_SECOND_FILE))
    change = (Edit("new", "old", 1, 1),)
    workspace_in(Path(sys.argv[1])).patch(
        [FileEdits("a.txt", change), FileEdits("b.txt", change)], waiting
    )
