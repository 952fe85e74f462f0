"""Applies changes to the lines of a file, from the last to the first."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from heddle_tools_service.capabilities.workspace import Change
from heddle_tools_service.workspace.errors import WorkspaceError
from heddle_tools_service.workspace.hunks import Hunk
from heddle_tools_service.workspace.texts import Text, full_lines

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
    for hunk in reversed(ordered):
        lines[hunk.start : hunk.stop] = _ended(hunk, ends)
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
    for hunk in ordered:
        start, stop = hunk.start + shift, hunk.start + shift + len(hunk.new)
        unchanged = hunk.new == text.lines[hunk.start : hunk.stop]
        if not unchanged:
            spans.append((hunk.start, hunk.stop, start, stop))
        changes.append(
            Change(hunk.index, hunk.start + 1, hunk.stop, start + 1, stop, hunk.reason, unchanged)
        )
        shift += len(hunk.new) - (hunk.stop - hunk.start)
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
