"""The operations on the files of one workspace."""

import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256

import re2

from heddle_tools_service.capabilities.workspace import (
    ChangedFile,
    Entry,
    FileEdits,
    FileQuery,
    Listing,
    Match,
    Matches,
    Page,
    Patched,
)
from heddle_tools_service.workspace import limits
from heddle_tools_service.workspace.commit import Write, commit, undo
from heddle_tools_service.workspace.errors import WorkspaceError, about
from heddle_tools_service.workspace.globs import matcher
from heddle_tools_service.workspace.jail import Jail
from heddle_tools_service.workspace.limits import DEEPEST, LOCK_WAIT, MAX_BACKUPS, MAX_VISITED
from heddle_tools_service.workspace.locks import held, paths_held
from heddle_tools_service.workspace.paths import components, folder_components, is_hidden
from heddle_tools_service.workspace.planning import Planned, plan, read, read_if_present
from heddle_tools_service.workspace.state import Record, State
from heddle_tools_service.workspace.texts import decode, shown

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


_IDENTIFIER = re.compile(r"[0-9a-f]{24}")
IsWaitedFor = Callable[[], bool]
"""Returns whether the caller still waits for the result."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """The files of one person. Every method blocks, and raises `WorkspaceError` for a refusal."""

    area: Jail
    state: State

    def patch(
        self,
        files: Sequence[FileEdits],
        is_waited_for: IsWaitedFor,
        *,
        dry_run: bool = False,
        relocate: bool = False,
    ) -> Patched:
        """Change all `files`, or none; see the capability `Workspace`."""
        if dry_run:
            self._settle()
            planned = plan(self.area, files, relocate=relocate)
            return Patched(tuple(one.changed_file for one in planned))
        with self._writing(
            [path for file in files for path in _locked_paths(file.path, created=file.create)]
        ):
            planned = plan(self.area, files, relocate=relocate)
            return self._write(planned, is_waited_for)

    def restore(
        self, identifier: str, is_waited_for: IsWaitedFor, *, path: str = "", force: bool = False
    ) -> Patched:
        """Put back what a patch replaced; see the capability `Workspace`."""
        record = self._record(identifier)
        only = "/".join(components(path)) if path else ""
        chosen = [n for n, file in enumerate(record.files) if only in ("", file.path)]
        if not chosen:
            raise WorkspaceError("not_found", f"The change did not touch {path!r}.")
        paths = [record.files[index].path for index in chosen]
        with self._writing([each for path in paths for each in _locked_paths(path, created=True)]):
            planned = [self._restored(record, index, force=force) for index in chosen]
            return self._write(planned, is_waited_for)

    def touched(self, identifier: str) -> tuple[str, ...]:
        """Return the paths of the files that a patch changed."""
        return tuple(file.path for file in self._record(identifier).files)

    def page(self, path: str, first: int, last: int | None) -> Page:
        """Return lines `first` to `last` of a file, or to its end."""
        self._settle()
        path = "/".join(components(path))
        image = read(self.area, path)
        text = decode(image.data, path)
        total = len(text.lines)
        if first > max(total, 1) or (last is not None and last < first):
            message = f"Invalid line range {first}-{last or ''}: {path!r} has {total} lines."
            raise WorkspaceError("invalid_range", message)
        lines = tuple(map(shown, text.lines[first - 1 : last]))
        return Page(path, image.digest, first, lines, total, text.line_end, text.final_newline)

    def list(self, folder: str, pattern: str, depth: int, most: int) -> Listing:
        """Return the content of a folder; see `listed`."""
        self._settle()
        return listed(self.area, folder, pattern, depth, most)

    def search(self, query: FileQuery) -> Matches:
        """Return the lines that match a query."""
        self._settle()
        return searched(self.area, query)

    def _write(self, planned: Sequence[Planned], is_waited_for: IsWaitedFor) -> Patched:
        writes = [one.write for one in planned if one.changed_file.status != "unchanged"]
        changed_files = tuple(one.changed_file for one in planned)
        if not writes:
            return Patched(changed_files)
        identifier = commit(self.area, self.state, writes, is_waited_for)
        with suppress(OSError):  # the patch is written: what is left over waits for the next one
            self.state.prune()
        return Patched(changed_files, identifier)

    def _record(self, identifier: str) -> Record:
        record = self.state.complete(identifier) if _IDENTIFIER.fullmatch(identifier) else None
        if record is None:
            raise _no_backup(identifier)
        return record

    def _restored(self, record: Record, index: int, *, force: bool) -> Planned:
        file = record.files[index]
        now = read_if_present(self.area, file.path)
        if (now and now.digest) != file.after and not force:
            message = (
                f"{file.path!r} changed since. Set force to true to lose that, or patch it instead."
            )
            raise WorkspaceError("conflict", message)
        data = None
        if file.before is not None:
            try:
                data = (self.state.backup(record.id) / str(index)).read_bytes()
            except FileNotFoundError:  # it became too old meanwhile
                raise _no_backup(record.id) from None
        write = Write(file.path, now, data, file.mode)
        if data == (now and now.data):
            return Planned(write, ChangedFile(file.path, "unchanged", file.before or ""))
        if data is None:
            return Planned(write, ChangedFile(file.path, "removed", ""))
        return Planned(write, ChangedFile(file.path, "restored", sha256(data).hexdigest()))

    @contextmanager
    def _writing(self, paths: Sequence[str]) -> Iterator[None]:
        """Lock `paths`, after undoing the patches of dead writers."""
        self.area.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.state.make()
        deadline = time.monotonic() + LOCK_WAIT
        all_paths = self.state.locks / "all"
        while True:
            with (
                held(all_paths, deadline, shared=True),
                paths_held(self.state.locks, paths, deadline),
            ):
                # Asked for with the locks in hand: their last holder may have died with them.
                if not self.state.abandoned():
                    yield
                    return
            self._recover(deadline)

    def _settle(self) -> None:
        if self.state.abandoned():
            self._recover(time.monotonic() + LOCK_WAIT)

    def _recover(self, deadline: float) -> None:
        """Undo the patches of dead writers, while no process writes."""
        with held(self.state.locks / "all", deadline):
            for record in self.state.abandoned():
                undo(self.area, self.state, record)


def _locked_paths(path: str, *, created: bool) -> list[str]:
    """Return the paths to lock while a file is written.

    For a new file these include the folders above it: a patch that fails removes the folders that
    it has created.
    """
    names = components(path)
    first = 1 if created else len(names)
    return ["/".join(names[:end]) for end in range(first, len(names) + 1)]


def _no_backup(identifier: str) -> WorkspaceError:
    message = (
        f"There is no restore_id {identifier[:40]!r}; the last {MAX_BACKUPS} changes can be "
        "restored."
    )
    return WorkspaceError("not_found", message)
