"""Inserts lines at the top of a file, each by a patch of its own."""

import sys
from pathlib import Path

from heddle_tools_service.capabilities.workspace import Edit
from tools_service.workspace.areas import patched, workspace_in


def main(folder: Path, name: str, times: int) -> None:
    """Insert `times` lines."""
    workspace = workspace_in(folder)
    for number in range(times):
        patched(workspace, "shared.txt", Edit(f"{name} {number}", "", 1, 0))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
