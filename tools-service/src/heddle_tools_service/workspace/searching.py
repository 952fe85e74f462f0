"""Searches the files of a workspace, in time proportional to their size."""

import time
from collections.abc import Callable, Iterator

import re2

from heddle_tools_service.capabilities.workspace import FileQuery, Match, Matches
from heddle_tools_service.workspace import limits
from heddle_tools_service.workspace.errors import WorkspaceError
from heddle_tools_service.workspace.globs import matcher
from heddle_tools_service.workspace.jail import Jail
from heddle_tools_service.workspace.planning import read
from heddle_tools_service.workspace.texts import decode, shown
from heddle_tools_service.workspace.walking import CUT_VISITS, walk

_MAX_PATTERN_CHARS = 1_000
_MAX_LINE_CHARS = 20_000
_WIDEST = 300
_CUT_LINES = f"of long lines, the first {_MAX_LINE_CHARS:,} characters were searched"


def searched(area: Jail, query: FileQuery) -> Matches:
    """Return the lines that match, file by file.

    Raises:
        WorkspaceError: The pattern is not valid, or there is no such folder.
    """
    hits, matches_pattern = _finder(query), matcher(query.pattern)
    budget = _Budget()
    matches: list[Match] = []
    files = skipped = 0
    long = False
    for entry in walk(area, query.folder):
        searched = not entry.folder and matches_pattern(entry.path)
        if cut := budget.spent(entry.size if searched else 0):
            return Matches(tuple(matches), files, skipped, cut)
        if not searched:
            continue
        time.sleep(0)  # lets other threads, the service's loop above all, have their turn
        try:
            lines = decode(read(area, entry.path).data, entry.path).lines
        except WorkspaceError:
            skipped += 1
            continue
        files += 1
        long = long or any(len(line) > _MAX_LINE_CHARS for line in lines)
        for match in _in_lines(entry.path, lines, hits):
            if len(matches) == query.most:
                cut = f"only the first {query.most:,} are shown"
                return Matches(tuple(matches), files, skipped, cut)
            matches.append(match)
    return Matches(tuple(matches), files, skipped, _CUT_LINES if long else "")


class _Budget:
    """The budget of one search: visits, bytes and seconds."""

    def __init__(self) -> None:
        self._end = time.monotonic() + limits.MAX_SEARCH_SECONDS
        self._visits = 0
        self._bytes = 0

    def spent(self, size: int) -> str:
        """Count a visit that reads `size` bytes; return which limit is reached, empty if none."""
        self._visits += 1
        self._bytes += min(size, limits.MAX_FILE_BYTES)
        if self._visits > limits.MAX_VISITED:
            return CUT_VISITS
        if self._bytes > limits.MAX_SEARCH_BYTES:
            return f"only the first {limits.MAX_SEARCH_BYTES:,} bytes were searched"
        if time.monotonic() > self._end:
            return f"the search was ended after {limits.MAX_SEARCH_SECONDS:g} s"
        return ""


def _finder(query: FileQuery) -> Callable[[str], bool]:
    """Return the function that matches lines. RE2 has no backtracking, so no line is slow."""
    if not 1 <= len(query.text) <= _MAX_PATTERN_CHARS or "\n" in query.text:
        message = f"query must be 1 to {_MAX_PATTERN_CHARS:,} characters of one line."
        raise WorkspaceError("invalid_arguments", message)
    if not query.regex:
        if query.case_sensitive:
            return lambda line: query.text in line
        folded = query.text.casefold()
        return lambda line: folded in line.casefold()
    options = re2.Options()
    options.case_sensitive = query.case_sensitive
    options.log_errors = False
    try:
        search = re2.compile(query.text, options).search
    except re2.error as error:
        why = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
        message = (
            f"query is not a regular expression that can be searched for: {why}. Backreferences "
            "and look-around are not supported."
        )
        raise WorkspaceError("invalid_arguments", message) from None
    return lambda line: search(line) is not None


def _in_lines(path: str, lines: list[str], hits: Callable[[str], bool]) -> Iterator[Match]:
    for number, line in enumerate(map(shown, lines), 1):
        if hits(line[:_MAX_LINE_CHARS]):
            yield Match(path, number, line if len(line) <= _WIDEST else f"{line[:_WIDEST]}…")
