"""Walks over a workspace by descriptors of folders. It does not follow links."""

import os
from collections.abc import Iterator, Sequence

from heddle_tools_service.capabilities.workspace import Entry, Listing
from heddle_tools_service.workspace.errors import about
from heddle_tools_service.workspace.globs import matcher
from heddle_tools_service.workspace.jail import Jail
from heddle_tools_service.workspace.limits import DEEPEST, MAX_VISITED
from heddle_tools_service.workspace.paths import folder_components, is_hidden

CUT_VISITS = f"only the first {MAX_VISITED:,} files and folders were looked at"


def listed(area: Jail, folder: str, pattern: str, depth: int, most: int) -> Listing:
    """Return the content of a folder and of the folders in it.

    Args:
        area: The workspace.
        folder: Where to begin; empty for all of it.
        pattern: The glob that the paths of files must match. Empty: files and folders, any.
        depth: How many folders deep; 1 is the folder alone.
        most: The most entries.
    """
    matches = matcher(pattern)
    entries: list[Entry] = []
    visited = 0
    for visited, entry in enumerate(walk(area, folder, depth), 1):
        if visited > MAX_VISITED:
            return Listing(tuple(entries), CUT_VISITS)
        if pattern and (entry.folder or not matches(entry.path)):
            continue
        if len(entries) == most:
            return Listing(tuple(entries), f"only the first {most:,} are shown")
        entries.append(entry)
    return Listing(tuple(entries))


def walk(area: Jail, folder: str, depth: int = DEEPEST) -> Iterator[Entry]:
    """Yield files and folders in the order of their paths, each folder before what it holds.

    Raises:
        WorkspaceError: There is no such folder. What vanishes or cannot be read later is left out.
    """
    start = folder_components(folder)
    with about(folder or "."):
        # A workspace that was never written to has no folder, which is no mistake.
        entries = _scanned(area, start) if start else _readable(area, [])
    waiting = [(entry, len(start) + 1) for entry in reversed(entries)]
    while waiting:
        entry, level = waiting.pop()
        yield entry
        if entry.folder and level - len(start) < min(depth, DEEPEST):
            inner = _readable(area, entry.path.split("/"))
            waiting += [(each, level + 1) for each in reversed(inner)]


def _readable(area: Jail, folder: Sequence[str]) -> list[Entry]:
    """Return the content of a folder; nothing if it vanished or cannot be read."""
    try:
        return _scanned(area, folder)
    except OSError:
        return []


def _scanned(area: Jail, folder: Sequence[str]) -> list[Entry]:
    prefix = "".join(f"{name}/" for name in folder)
    entries: list[Entry] = []
    with area.folder(folder) as descriptor, os.scandir(descriptor) as scanned:
        for entry in scanned:
            if is_hidden(entry.name) or not entry.name.isprintable():
                continue
            if entry.is_dir(follow_symlinks=False):
                entries.append(Entry(prefix + entry.name, folder=True))
            elif entry.is_file(follow_symlinks=False):
                size = entry.stat(follow_symlinks=False).st_size
                entries.append(Entry(prefix + entry.name, folder=False, size=size))
    return sorted(entries, key=lambda entry: entry.path)
