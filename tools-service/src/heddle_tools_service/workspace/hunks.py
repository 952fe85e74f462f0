"""Determines the lines that an edit replaces."""

from collections.abc import Sequence
from dataclasses import dataclass

from heddle_tools_service.capabilities.workspace import Edit
from heddle_tools_service.workspace import hints
from heddle_tools_service.workspace.errors import WorkspaceError
from heddle_tools_service.workspace.texts import Text, lines_in, shown

_SHOWN = "\ufffd"


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines `start` to `stop`, from 0 and exclusive, become `new`."""

    index: int
    start: int
    stop: int
    new: list[str]
    reason: str
    written: str
    """The new text as it was given."""


def hunk(text: Text, index: int, edit: Edit, *, relocate: bool) -> Hunk:
    """Return the lines that `edit` replaces in `text`, and their replacement.

    Args:
        text: The file.
        index: The place of the edit among all of the file.
        edit: The change.
        relocate: Whether to take the only other place where the old text is, if it is not at the
            named lines.

    Raises:
        WorkspaceError: `invalid_range`, `content_mismatch` or `invalid_arguments`; the message
            begins with what is wrong, without the name of the file.
    """
    if "\0" in edit.new:
        raise WorkspaceError("invalid_arguments", "new_content holds a NUL character.")
    if edit.first is None and edit.last is None:
        return _searched(text, index, edit)
    if edit.first is None or edit.last is None:
        message = "Give both line_start and line_end, or neither to search for old_content."
        raise WorkspaceError("invalid_arguments", message)
    start, stop = edit.first - 1, edit.last
    _check_range(edit.first, edit.last, len(text.lines))
    new = lines_in(edit.new)
    if not _equal(text.lines[start:stop], _as_many(edit.old, stop - start)):
        old = lines_in(edit.old)
        places = hints.places(text.lines, old) if old else []
        if not (relocate and len(places) == 1):
            raise _mismatch(text, start, stop, old, new)
        start, stop = places[0], places[0] + len(old)
    return Hunk(index, start, stop, _with_bytes(text.lines[start:stop], new), edit.reason, edit.new)


def _check_range(first: int, last: int, total: int) -> None:
    if first < 1 or last < first - 1 or last > total or first > total + 1:
        lines = f"{total} line{'' if total == 1 else 's'}"
        raise WorkspaceError(
            "invalid_range",
            f"Invalid line range {first}-{last}: the file has {lines}, counted from 1 as they are "
            f"before any change of this call. To insert before line N, set line_start to N and "
            f"line_end to N-1; to append, N is {total + 1}.",
        )


def _as_many(old: str, count: int) -> list[str]:
    """Return the old lines; whether the last one's end was written decides their number."""
    lines = old.replace("\r\n", "\n").removeprefix("\ufeff").split("\n")
    if len(lines) == count + 1 and not lines[-1]:
        del lines[-1]
    return lines


def _equal(there: Sequence[str], old: Sequence[str]) -> bool:
    return list(there) == old or [shown(line) for line in there] == old


def _mismatch(text: Text, start: int, stop: int, old: list[str], new: list[str]) -> WorkspaceError:
    if start == stop:
        message = (
            f"Content mismatch: lines {start + 1}-{stop} insert before line {start + 1} and "
            "replace nothing, so old_content must be empty. To replace lines, line_end must not "
            "be before line_start."
        )
        return WorkspaceError("content_mismatch", message)
    message_lines = [f"Content mismatch at lines {start + 1}-{stop}. The file has there:"]
    message_lines += hints.numbered(text.lines, start, stop)
    message_lines += hints.remedies(text.lines, old, new, start)
    return WorkspaceError("content_mismatch", "\n".join(message_lines))


def _searched(text: Text, index: int, edit: Edit) -> Hunk:
    """Return the lines that hold the only occurrence of the old text, whole or in part."""
    old = edit.old.replace("\r\n", "\n")
    new = edit.new.replace("\r\n", "\n")
    if old.endswith("\n") and new and not new.endswith("\n"):
        new += "\n"  # it may be left out, and must not join the next line to this one
    if not old:
        message = "old_content is empty: give line_start and line_end to insert."
        raise WorkspaceError("invalid_arguments", message)
    whole = "".join(f"{line}\n" for line in text.lines)
    seen = shown(whole)
    at = seen.find(old)
    if at < 0 or seen.find(old, at + 1) >= 0:
        raise _not_once(text, seen, old, new)
    begin, end = whole.rfind("\n", 0, at) + 1, at + len(old)
    replacement = whole[begin:at] + new
    if not old.endswith("\n") or (replacement and not replacement.endswith("\n")):
        rest = whole.find("\n", end) + 1 or len(whole)
        replacement += whole[end:rest]
        end = rest
    start = whole.count("\n", 0, begin)
    stop = start + whole.count("\n", begin, end)
    return Hunk(
        index,
        start,
        stop,
        _with_bytes(text.lines[start:stop], lines_in(replacement)),
        edit.reason,
        edit.new,
    )


def _not_once(text: Text, seen: str, old: str, new: str) -> WorkspaceError:
    lines = hints.lines_of(seen, old)
    if lines:
        places = ", ".join(map(str, lines[: hints.MAX_PLACES]))
        more = " and more" if len(lines) > hints.MAX_PLACES else ""
        message = (
            f"Content mismatch: old_content is there more than once, at lines {places}{more}. "
            "Add lines around it until it is unique, or give line_start and line_end."
        )
        return WorkspaceError("content_mismatch", message)
    message_lines = ["Content mismatch: old_content is nowhere in the file."]
    message_lines += hints.remedies(text.lines, lines_in(old), lines_in(new), 0)
    return WorkspaceError("content_mismatch", "\n".join(message_lines))


def _with_bytes(old: list[str], new: list[str]) -> list[str]:
    """Return `new` with the bytes of `old` in place of the U+FFFD that stand for them.

    They are known before the first difference and after the last one.
    """
    before, after = "\n".join(old), "\n".join(new)
    shown_before, shown_after = shown(before), shown(after)
    if shown_before == before or _SHOWN not in after:
        return new
    head = _alike(shown_before, shown_after)
    tail = _alike(shown_before[head:][::-1], shown_after[head:][::-1])
    inner = after[head : len(after) - tail]
    if _SHOWN in inner and _SHOWN in shown_before[head : len(shown_before) - tail]:
        message = (
            "new_content contains U+FFFD, which stands for bytes that are not UTF-8. Change the "
            "text before and after them in separate changes, so that the bytes can stay."
        )
        raise WorkspaceError("not_text", message)
    return (before[:head] + inner + before[len(before) - tail :]).split("\n") if new else []


def _alike(one: str, other: str) -> int:
    """Return the length of the common beginning of two texts, in characters."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
