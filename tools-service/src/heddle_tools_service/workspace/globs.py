"""Patterns of paths: `*` and `?` stay within a name, `**/` stands for any folders."""

import re
from collections.abc import Callable

import re2

from heddle_tools_service.workspace.errors import WorkspaceError

_MAX_GLOB_CHARS = 500
_TOKEN = re.compile(r"\*\*/|\*\*|\*|\?|[^*?]+")
_MEANINGS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def matcher(pattern: str) -> Callable[[str], bool]:
    """Return the function that matches paths; a pattern without `/` is for the file's name alone.

    Raises:
        WorkspaceError: The pattern is too long.
    """
    if not pattern:
        return lambda _: True
    if len(pattern) > _MAX_GLOB_CHARS:
        raise WorkspaceError(
            "invalid_arguments", f"A glob has at most {_MAX_GLOB_CHARS} characters."
        )
    glob = pattern.removeprefix("./")
    parts = (_MEANINGS.get(token) or re2.escape(token) for token in _TOKEN.findall(glob))
    compiled = re2.compile("".join(parts))
    if "/" in glob:
        return lambda path: compiled.fullmatch(path) is not None
    return lambda path: compiled.fullmatch(path.rpartition("/")[2]) is not None
