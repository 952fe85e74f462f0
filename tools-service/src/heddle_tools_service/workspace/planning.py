"""Determines what a patch writes, without writing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise

from heddle_tools_service.capabilities.workspace import Change, ChangedFile, Edit, FileEdits
from heddle_tools_service.workspace import jail
from heddle_tools_service.workspace.commit import Write
from heddle_tools_service.workspace.errors import WorkspaceError, about, first_of
from heddle_tools_service.workspace.hunks import Hunk, hunk
from heddle_tools_service.workspace.jail import Image, Jail
from heddle_tools_service.workspace.limits import (
    MAX_EDITS,
    MAX_FILE_BYTES,
    MAX_FILES,
    MAX_PATCH_BYTES,
)
from heddle_tools_service.workspace.paths import components
from heddle_tools_service.workspace.texts import Text, decode, encode, full_lines

Span = tuple[int, int, int, int]
"""A replacement: old lines from and to, new lines from and to; counted from 0, ends exclusive."""


@dataclass(frozen=True, slots=True)
class Applied:
    """A file before and after, as full lines, and where they differ."""

    old: list[str]
    new: list[str]
    spans: list[Span]
    changes: tuple[Change, ...]
    """In the order in which they were asked for."""


def apply(text: Text, hunks: Sequence[Hunk]) -> Applied:
    """Return `text` with all `hunks` applied, in any order.

    Each new line ends as the line that it replaces, or else as its neighbour; whether the last
    line of the file has an end stays as it is. An empty file gets what was written, ends and all.

    Raises:
        WorkspaceError: `overlap`.
    """
    ordered = sorted(hunks, key=lambda each: (each.start, each.stop))
    _check_overlap(ordered)
    if not text.lines and ordered:
        return _filled(text, ordered[0])
    beyond = text.ends[-2] if len(text.ends) > 1 else "\n"
    lines = list(zip(text.lines, (end or beyond for end in text.ends), strict=True))
    ends = [end for _, end in lines]
    for part in reversed(ordered):
        lines[part.start : part.stop] = _ended(part, ends)
    if lines and not text.final_newline and lines[-1][0]:  # an empty line is nothing but its end
        lines[-1] = (lines[-1][0], "")
    new = [line + end for line, end in lines]
    if text.mark and new:
        new[0] = text.mark + new[0]
    changes, spans = _placed(text, ordered)
    return Applied(text.full(), new, _widened(text, spans, len(new)), tuple(changes))


def _check_overlap(ordered: Sequence[Hunk]) -> None:
    """Refuse changes of the same lines, and two insertions at one place.

    Raises:
        WorkspaceError: `overlap`.
    """
    for one, other in pairwise(ordered):
        same_place = one.start == one.stop == other.start == other.stop
        if other.start < one.stop or same_place:
            first, second = sorted((one.index, other.index))
            raise WorkspaceError(
                "overlap",
                f"changes[{first}] and changes[{second}] overlap at line {other.start + 1}: "
                "make one change of them.",
            )


def _ended(hunk: Hunk, ends: Sequence[str]) -> list[tuple[str, str]]:
    own = ends[hunk.start : hunk.stop]
    beyond = own[-1] if own else ends[max(hunk.start - 1, 0)]
    return [
        (line, own[index] if index < len(own) else beyond) for index, line in enumerate(hunk.new)
    ]


def _placed(text: Text, ordered: Sequence[Hunk]) -> tuple[list[Change], list[Span]]:
    changes, spans, shift = [], [], 0
    for part in ordered:
        start, stop = part.start + shift, part.start + shift + len(part.new)
        unchanged = part.new == text.lines[part.start : part.stop]
        if not unchanged:
            spans.append((part.start, part.stop, start, stop))
        changes.append(
            Change(part.index, part.start + 1, part.stop, start + 1, stop, part.reason, unchanged)
        )
        shift += len(part.new) - (part.stop - part.start)
    return sorted(changes, key=lambda change: change.index), spans


def _widened(text: Text, spans: Sequence[Span], total: int) -> list[Span]:
    """Return spans that also cover a line which changes with its neighbour.

    That is the first one where the byte order mark moves, and the last one where the missing line
    end does.
    """
    wide = _merged(spans)
    if wide and not text.final_newline and wide[-1][1] == len(text.lines):
        i1, i2, j1, j2 = wide[-1]
        if (i1 == i2 or j1 == j2) and i1 and j1:
            wide[-1] = (i1 - 1, i2, j1 - 1, j2)
    if wide and text.mark and wide[0][0] == 0:
        i1, i2, j1, j2 = wide[0]
        if (i1 == i2 or j1 == j2) and i2 < len(text.lines) and j2 < total:
            wide[0] = (i1, i2 + 1, j1, j2 + 1)
    return _merged(wide)


def _merged(spans: Sequence[Span]) -> list[Span]:
    merged: list[Span] = []
    for i1, i2, j1, j2 in spans:
        if merged and i1 <= merged[-1][1]:
            before = merged[-1]
            merged[-1] = (before[0], max(i2, before[1]), before[2], max(j2, before[3]))
        else:
            merged.append((i1, i2, j1, j2))
    return merged


def _filled(text: Text, hunk: Hunk) -> Applied:
    old, new = text.full(), full_lines(hunk.written)
    change = Change(hunk.index, 1, 0, 1, len(new), hunk.reason, unchanged=not new)
    if not new:
        return Applied(old, old, [], (change,))
    new[0] = text.mark + new[0]
    return Applied(old, new, [(0, len(old), 0, len(new))], (change,))


_CONTEXT = 3
_NOWHERE = "/dev/null"


def unified(path: str, applied: Applied, *, created: bool = False) -> tuple[str, int, int]:
    """Return the diff of a file, and how many lines it adds and removes."""
    spans = [span for span in (_trimmed(applied, span) for span in applied.spans) if span]
    if not spans:
        return "", 0, 0
    before = _NOWHERE if created else _name(f"a/{path}")
    head = f"--- {before}\n+++ {_name(f'b/{path}')}\n"
    body = "".join(line for group in _groups(spans) for line in _hunk(applied, group))
    added = sum(j2 - j1 for _, _, j1, j2 in spans)
    removed = sum(i2 - i1 for i1, i2, _, _ in spans)
    return head + body, added, removed


def _trimmed(applied: Applied, span: Span) -> Span | None:
    """Return a span without the equal lines at both of its ends."""
    i1, i2, j1, j2 = span
    while i1 < i2 and j1 < j2 and applied.old[i1] == applied.new[j1]:
        i1, j1 = i1 + 1, j1 + 1
    while i1 < i2 and j1 < j2 and applied.old[i2 - 1] == applied.new[j2 - 1]:
        i2, j2 = i2 - 1, j2 - 1
    return (i1, i2, j1, j2) if i1 < i2 or j1 < j2 else None


def _groups(spans: Sequence[Span]) -> Iterator[list[Span]]:
    group = [spans[0]]
    for span in spans[1:]:
        if span[0] - group[-1][1] > 2 * _CONTEXT:
            yield group
            group = []
        group.append(span)
    yield group


def _hunk(applied: Applied, group: Sequence[Span]) -> Iterator[str]:
    old, new = applied.old, applied.new
    before = min(_CONTEXT, group[0][0])
    after = min(_CONTEXT, len(old) - group[-1][1])
    i1, j1 = group[0][0] - before, group[0][2] - before
    i2, j2 = group[-1][1] + after, group[-1][3] + after
    yield f"@@ -{_range(i1, i2)} +{_range(j1, j2)} @@\n"
    at = i1
    for span in group:
        yield from (_line(" ", line) for line in old[at : span[0]])
        yield from (_line("-", line) for line in old[span[0] : span[1]])
        yield from (_line("+", line) for line in new[span[2] : span[3]])
        at = span[1]
    yield from (_line(" ", line) for line in old[at:i2])


def _range(start: int, stop: int) -> str:
    length = stop - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def _line(sign: str, line: str) -> str:
    return sign + line if line.endswith("\n") else f"{sign}{line}\n\\ No newline at end of file\n"


def _name(path: str) -> str:
    """Return a name in the form that `patch` reads: a tab follows one that contains blanks."""
    return f"{path}\t" if " " in path else path


_MAX_EXPLAINED = 3
_NEW_MODE = 0o644


@dataclass(frozen=True, slots=True)
class Planned:
    """A file of a patch: its planned change, and the report of it."""

    write: Write
    changed_file: ChangedFile


def plan(area: Jail, files: Sequence[FileEdits], *, relocate: bool) -> list[Planned]:
    """Return the planned result of all files.

    Raises:
        WorkspaceError: The first problem, and the first few others with it.
    """
    _check_number(files)
    planned: list[Planned] = []
    problems: list[WorkspaceError] = []
    for file in files:
        try:
            planned.append(_plan_file(area, file, relocate=relocate))
        except WorkspaceError as error:
            problems.append(error)
            if len(problems) == _MAX_EXPLAINED:
                break
    if problems:
        raise first_of(problems)
    if sum(len(one.write.after or b"") for one in planned) > MAX_PATCH_BYTES:
        message = (
            f"The files have more than {MAX_PATCH_BYTES:,} bytes together: patch fewer at once."
        )
        raise WorkspaceError("invalid_arguments", message)
    return planned


def read(area: Jail, path: str) -> Image:
    """Return a file of the workspace.

    Raises:
        WorkspaceError: There is none, or none that may be read.
    """
    *folders, name = components(path)
    with about(path), area.folder(folders) as parent:
        return jail.read(parent, name, path)


def read_if_present(area: Jail, path: str) -> Image | None:
    """Return a file of the workspace; None if there is none.

    Raises:
        WorkspaceError: There is one that may not be read.
    """
    try:
        return read(area, path)
    except WorkspaceError as error:
        if error.kind == "not_found":
            return None
        raise


def _check_number(files: Sequence[FileEdits]) -> None:
    paths = ["/".join(components(file.path)) for file in files]
    twice = next((path for path in paths if paths.count(path) > 1), None)
    if twice is not None:
        message = f"{twice!r} is named twice: put all of its changes together."
        raise WorkspaceError("invalid_arguments", message)
    if len(files) > MAX_FILES:
        message = f"At most {MAX_FILES} files can be changed at once."
        raise WorkspaceError("invalid_arguments", message)


def _plan_file(area: Jail, file: FileEdits, *, relocate: bool) -> Planned:
    if not 1 <= len(file.edits) <= MAX_EDITS:
        message = f"{file.path!r}: changes must have 1 to {MAX_EDITS} items."
        raise WorkspaceError("invalid_arguments", message)
    before = None if file.create else _present(area, file)
    if file.create and read_if_present(area, file.path) is not None:
        message = f"{file.path!r} exists already. Read it and change it without create."
        raise WorkspaceError("conflict", message)
    text = decode(before.data if before else b"", file.path)
    edits = [_whole(file)] if file.create else file.edits
    hunks = list(_hunks(file.path, text, edits, relocate=relocate))
    try:
        applied = apply(text, hunks)
    except WorkspaceError as error:
        raise WorkspaceError(error.kind, f"{file.path}: {error}") from None
    after = encode(applied.new)
    if len(after) > MAX_FILE_BYTES:
        message = f"{file.path!r} would have more than {MAX_FILE_BYTES:,} bytes. Split it."
        raise WorkspaceError("invalid_arguments", message)
    path = "/".join(components(file.path))
    diff, added, removed = unified(path, applied, created=file.create)
    changed_file = ChangedFile(
        path=path,
        status="created" if file.create else "changed" if diff else "unchanged",
        sha256=sha256(after).hexdigest(),
        changes=applied.changes,
        diff=diff,
        added=added,
        removed=removed,
    )
    mode = before.mode if before else _NEW_MODE
    return Planned(Write(path, before, after, mode), changed_file)


def _present(area: Jail, file: FileEdits) -> Image:
    try:
        text = read(area, file.path)
    except WorkspaceError as error:
        if error.kind != "not_found":
            raise
        message = f"{error} To make it, set create to true."
        raise WorkspaceError("not_found", message) from None
    if not text.digest.startswith(file.sha256.lower()):
        raise WorkspaceError(
            "conflict",
            f"{file.path!r} is not what you read: its sha256 is {text.digest}. Read it again.",
        )
    return text


def _whole(file: FileEdits) -> Edit:
    edit = file.edits[0]
    if len(file.edits) > 1 or edit.old or edit.first not in (None, 1) or edit.last not in (None, 0):
        message = (
            f"{file.path!r}: a new file has one change, with an empty old_content and all of the "
            "file as new_content."
        )
        raise WorkspaceError("invalid_arguments", message)
    return Edit(edit.new, "", 1, 0, edit.reason)


def _hunks(path: str, text: Text, edits: Sequence[Edit], *, relocate: bool) -> Iterator[Hunk]:
    problems: list[WorkspaceError] = []
    for index, edit in enumerate(edits):
        try:
            yield hunk(text, index, edit, relocate=relocate)
        except WorkspaceError as error:
            problems.append(WorkspaceError(error.kind, f"changes[{index}] of {path}: {error}"))
            if len(problems) == _MAX_EXPLAINED:
                break
    if problems:
        raise first_of(problems)
