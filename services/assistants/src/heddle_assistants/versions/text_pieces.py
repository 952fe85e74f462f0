"""Compares two texts, as pieces that are read one after another."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from heddle.assistant.v1 import versions_pb2 as pb

MAX_PARTS = 4_000
"""The maximum number of words or lines of a text to compare; the time grows with the square."""
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")


def text_pieces(before: str, after: str) -> list[pb.TextPiece]:
    """Return the pieces of two texts: words, or lines or the whole of long texts."""
    parts = _parts(before), _parts(after)
    if any(len(each) > MAX_PARTS for each in parts):
        parts = before.splitlines(keepends=True), after.splitlines(keepends=True)
    if any(len(each) > MAX_PARTS for each in parts):
        parts = [before], [after]
    old, new = parts
    pieces: list[pb.TextPiece] = []
    for kind, start, end, new_start, new_end in SequenceMatcher(None, old, new).get_opcodes():
        if kind == "equal":
            _add(pieces, pb.TextPiece.KIND_EQUAL, old[start:end])
        else:
            _add(pieces, pb.TextPiece.KIND_REMOVED, old[start:end])
            _add(pieces, pb.TextPiece.KIND_ADDED, new[new_start:new_end])
    return pieces


def _parts(text: str) -> list[str]:
    return _WORDS.findall(text)


def _add(
    pieces: list[pb.TextPiece], kind: pb.TextPiece.Kind.ValueType, parts: Sequence[str]
) -> None:
    if parts:
        pieces.append(pb.TextPiece(kind=kind, text="".join(parts)))
