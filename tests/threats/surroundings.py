"""Folders of users, beside everything that a path could reach by mistake."""

import os
from pathlib import Path

from heddle_tools_service.workspace.engine import Workspace
from tools_service.workspace.areas import workspace_in

SECRET = "the neighbour's secret"
"""The content of every file that no user may read."""


def surrounded_workspace(folder: Path) -> Workspace:
    """Return Ana's workspace, whose files are in `folder/ana`."""
    workspace = workspace_in(folder)
    workspace.state.make()
    outside = folder / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text(SECRET)
    (folder / "ana_evil").mkdir()
    (folder / "ana_evil" / "secret.txt").write_text(SECRET)
    inside = folder / "ana"
    (inside / "docs" / ".git").mkdir(parents=True)
    (inside / "docs" / ".git" / "config").write_text(SECRET)
    (inside / "docs" / ".env").write_text("mine")
    (inside / "docs" / "link.txt").symlink_to(outside / "secret.txt")
    (inside / "docs" / "dangling.txt").symlink_to(outside / "new.txt")
    (inside / "docs" / "way").symlink_to(outside)
    (inside / "docs" / "loop").symlink_to("loop")
    (inside / "docs" / "self").symlink_to("/proc/self/root")
    (inside / "docs" / "second.txt").hardlink_to(outside / "secret.txt")
    os.mkfifo(inside / "docs" / "pipe")
    return workspace


def surrounded_files(folder: Path) -> Path:
    """Return the folder of the files of assistants, `folder/files`."""
    files = folder / "files"
    for name in ("1", "2", "docs", "ana@example.org", "docs/deep"):
        (files / name).mkdir(parents=True)
    (files / "guide.md").write_text("the guide")
    (files / "docs" / "notes..md").write_text("dotted")
    (files / "docs" / "deep" / "é ü.txt").write_text("deep")
    (files / "1" / "notes.md").write_text("notes of 1")
    (files / "ana@example.org" / "a.md").write_text("notes of Ana")
    (files / ".hidden").write_text(SECRET)
    outside = folder / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text(SECRET)
    (folder / "files_evil").mkdir()
    (folder / "files_evil" / "secret.txt").write_text(SECRET)
    (files / "docs" / "link.txt").symlink_to(outside / "secret.txt")
    (files / "docs" / "relative.txt").symlink_to("../../outside/secret.txt")
    (files / "docs" / "way").symlink_to(outside)
    (files / "docs" / "loop").symlink_to("loop")
    (files / "docs" / "others.md").symlink_to("../1/notes.md")
    (files / "docs" / "root").symlink_to("/")
    (files / "docs" / "self").symlink_to("/proc/self/root")
    os.mkfifo(files / "docs" / "pipe")
    (files / "docs" / "latin.txt").write_bytes("caf\xe9".encode("latin-1"))
    (files / "docs" / "binary.txt").write_bytes(b"a\0b")
    (files / "docs" / "bom.txt").write_bytes(b"\xef\xbb\xbfwith a mark")
    return files


def snapshot(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return what is in a folder and when it changed, so that files that came and went show."""
    states = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        if ".state" in path.parts or path.is_symlink():
            continue
        status = path.stat()
        states[str(path)] = status.st_mtime_ns, status.st_ctime_ns, b""
        if path.is_file():
            states[str(path)] = (*states[str(path)][:2], path.read_bytes())
    return states
