"""Checks the paths that tools may use in a workspace."""

import unicodedata

from heddle_tools_service.workspace.errors import WorkspaceError

TEMPORARY = ".heddle-"
"""The prefix of the names of files that exist only while a patch is written."""
_MAX_PATH_CHARS = 4_096
_UNPRINTABLE = frozenset({"Cc", "Cf", "Cs"})


def components(path: str) -> list[str]:
    """Return the components of a file's path.

    Raises:
        WorkspaceError: It is absolute, has `..`, or names a hidden file or folder.
    """
    parts = path.removeprefix("./").split("/")
    if path.startswith("/") or "\\" in path or ".." in parts:
        raise _denied(path, "paths are relative to the workspace, with / between names, without ..")
    if any(part in {"", "."} for part in parts):
        raise _denied(path, "a name in it is empty; write it like src/main.py")
    if len(path) > _MAX_PATH_CHARS:
        raise _denied(path, f"it has more than {_MAX_PATH_CHARS:,} characters")
    if any(unicodedata.category(sign) in _UNPRINTABLE for sign in path):
        raise _denied(path, "it has unprintable characters")
    if any(is_hidden(part) for part in parts):
        raise _denied(path, "files of version control and of the service are not accessible")
    return parts


def folder_components(path: str) -> list[str]:
    """Return the components of a folder's path; none for the workspace itself."""
    bare = path.rstrip("/") if path != "/" else path
    return [] if bare in {"", "."} else components(bare)


def is_hidden(name: str) -> bool:
    """Return whether files and folders of this name are hidden from tools.

    A changed `.git` could run a foreign program with the next command of the folder's user.
    """
    return name.casefold() == ".git" or name.startswith(TEMPORARY)


def _denied(path: str, why: str) -> WorkspaceError:
    shown = path if len(path) <= 200 else f"{path[:200]}…"  # noqa: PLR2004 - enough to recognise it
    return WorkspaceError("path_denied", f"The path {shown!r} is refused: {why}.")
