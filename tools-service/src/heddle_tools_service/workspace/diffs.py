"""Writes unified diffs that `patch` applies, in linear time: the differences are known."""

from collections.abc import Iterator, Sequence

from heddle_tools_service.workspace.applying import Applied, Span

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
