"""Hints for a change whose old text is not at its lines: these lines, and similar places."""

from collections import Counter, deque
from collections.abc import Sequence
from difflib import SequenceMatcher

from heddle_tools_service.workspace.texts import shown

MAX_PLACES = 10
_MAX_SHOWN = 6
_WIDEST = 120  # characters of a line that is shown
_NEIGHBOURS = 400  # lines in each direction that are compared
_COMPARED = 120  # characters of a line that are compared: the time grows with the square
_ALIKE = 0.6  # the least similarity of a line that is worth showing


def numbered(lines: Sequence[str], start: int, stop: int) -> list[str]:
    """Return lines `start` to `stop` with their numbers, the middle of many left out."""
    numbered_lines = [_line(lines, index) for index in range(start, min(stop, start + _MAX_SHOWN))]
    if stop - start > _MAX_SHOWN:
        numbered_lines.append(f"   … {stop - start - _MAX_SHOWN} more lines, to line {stop}")
    return numbered_lines


def remedies(lines: Sequence[str], old: list[str], new: list[str], near: int) -> list[str]:
    """Return advice for a caller whose `old` is not at line `near`, counted from 0."""
    remedies_ = []
    if new and list(map(shown, lines[near : near + len(new)])) == new:
        remedies_.append("The new text is already there: this change needs nothing more.")
    elif new and places(lines, new):
        at = places(lines, new)[0] + 1
        remedies_.append(f"The new text is already in the file, at line {at}.")
    positions = places(lines, old)
    if len(positions) == 1:
        first, last = positions[0] + 1, positions[0] + len(old)
        remedies_.append(f"old_content is exactly lines {first}-{last}: use these numbers.")
    elif positions:
        where = ", ".join(str(index + 1) for index in positions)
        remedies_.append(f"old_content begins at each of the lines {where}: choose one.")
    elif (region := nearest(lines, old, near)) is not None:
        start, stop = region, min(region + len(old), len(lines))
        remedies_.append(
            f"Nearest to old_content are lines {start + 1}-{stop}{_nuance(lines, old, start)}:"
        )
        remedies_ += numbered(lines, start, stop)
    return [*remedies_, "Copy old_content from the file as it is, or read the file again."]


def places(lines: Sequence[str], block: Sequence[str]) -> list[int]:
    """Return the lines, counted from 0, at which `block` begins; at most 10."""
    if not any(line.strip() for line in block):  # blank lines are everywhere
        return []
    whole = "\n".join(["", *map(shown, lines), ""])
    return [line - 1 for line in lines_of(whole, "\n".join(["", *block, ""]))[:MAX_PLACES]]


def lines_of(text: str, needle: str) -> list[int]:
    """Return the lines, from 1, in which `needle` begins; at most 11."""
    positions: list[int] = []
    at = text.find(needle)
    while at >= 0 and len(positions) <= MAX_PLACES:
        positions.append(text.count("\n", 0, at) + 1)
        at = text.find(needle, at + 1)
    return positions


def nearest(lines: Sequence[str], block: Sequence[str], near: int) -> int | None:
    """Return the first of the lines most similar to `block`; of equals, the nearest to `near`."""
    if not any(line.strip() for line in block):
        return None
    by_lines = _by_equal_lines([shown(line).strip() for line in lines], block, near)
    return _by_likeness(lines, block, near) if by_lines is None else by_lines


def _by_equal_lines(lines: Sequence[str], block: Sequence[str], near: int) -> int | None:
    """Find the place with most lines of `block`, whatever their indentation, in linear time."""
    missing = Counter(line.strip() for line in block if line.strip())
    window: deque[str] = deque()
    score, best = 0, (0, 0, 0)
    for index, line in enumerate(lines):
        window.append(line)
        if line in missing:
            score += missing[line] > 0
            missing[line] -= 1
        if len(window) > len(block):
            gone = window.popleft()
            if gone in missing:
                missing[gone] += 1
                score -= missing[gone] > 0
        start = index - len(window) + 1
        best = max(best, (score, -abs(start - near), start))
    return best[2] if best[0] else None


def _by_likeness(lines: Sequence[str], block: Sequence[str], near: int) -> int | None:
    """Find the line most similar to the longest of `block` around `near`, in bounded time."""
    offset = max(range(len(block)), key=lambda index: len(block[index].strip()))
    probe = block[offset].strip()[:_COMPARED]
    matcher = SequenceMatcher(None, "", probe, autojunk=False)
    best, position = _ALIKE, None
    for index in range(max(0, near - _NEIGHBOURS), min(len(lines), near + _NEIGHBOURS)):
        matcher.set_seq1(shown(lines[index]).strip()[:_COMPARED])
        if matcher.real_quick_ratio() > best < matcher.quick_ratio():
            likeness = matcher.ratio()
            if likeness > best:
                best, position = likeness, index
    return None if position is None else max(0, position - offset)


def _nuance(lines: Sequence[str], old: Sequence[str], start: int) -> str:
    there = map(shown, lines[start : start + len(old)])
    if [line.split() for line in there] == [line.split() for line in old]:
        return ", which differ in blanks or tabs alone"
    return ""


def _line(lines: Sequence[str], index: int) -> str:
    text = shown(lines[index])
    cut = text if len(text) <= _WIDEST else f"{text[:_WIDEST]}…"
    return f"{index + 1:>5}| {cut}"
