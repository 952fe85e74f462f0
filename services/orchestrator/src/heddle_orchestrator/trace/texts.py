"""Texts of a trace, without secrets."""

from itertools import pairwise

from heddle_runtime.redaction import redact

MAX_TEXT_CHARS = 20_000
"""The limit of a step's output and of a slot's text. The prompt is complete."""


def shortened(text: str) -> tuple[str, bool]:
    """Return the beginning of a text without secrets, and whether it was cut."""
    shown = redact(text)
    beginning = shown[:MAX_TEXT_CHARS]
    return beginning, beginning != shown


def redacted(text: str, positions: set[int]) -> tuple[str, dict[int, int] | None]:
    """Return a text without secrets, and where positions of the text are in it.

    The positions are None if a secret crosses one of them.
    """
    shown = redact(text)
    edges = sorted({0, *positions, len(text)})
    if shown == text:
        return shown, {each: each for each in edges}
    pieces = [redact(text[start:end]) for start, end in pairwise(edges)]
    if "".join(pieces) != shown:
        return shown, None
    moved = {0: 0}
    for (start, end), piece in zip(pairwise(edges), pieces, strict=True):
        moved[end] = moved[start] + len(piece)
    return shown, moved
