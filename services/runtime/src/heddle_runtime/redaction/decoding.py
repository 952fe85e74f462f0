"""Decodes the escapes of URLs, JSON and HTML in a text, and texts in Base64."""

from base64 import b64decode
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from itertools import accumulate, chain, islice, pairwise

import re2

MAX_PIECES = 10_000
"""The number of escapes and texts in Base64 that are decoded; the rest is read undecoded."""
PATTERN = (
    r"%[0-9A-Fa-f]{2}|\\{1,4}u00[2-7][0-9A-Fa-f]|\\{1,4}/|&(?:amp|quot|lt|gt|#3[49]|#x2[27]);"
    # Base64 of JSON, -----BEGIN, URLs with passwords, keys
    r"|\b(?:ey[IJA]|ewo|LS0tLS1CRUdJTi"
    r"|cG9zdGdyZX|bXlzcWw|bWFyaWFkYj|bW9uZ29kYi|cmVkaX|YW1xc|bXNzcWw|Y2xpY2tob3VzZ|c210c|aHR0c"
    r"|c2st|c2tf|Z2hwX|Z2hvX|eG94Y|QUtJQ|QVNJQ|QUl6Y|QmVhcmVyI|cGFzc3dvcm|Z2xwYXQt)"
    r"[A-Za-z0-9+/_-]{12,}"
)
"""The pattern of the pieces, in RE2's syntax."""
_CONTEXT = 2_048
"""The number of bytes around a piece that may belong to the same secret, or name it."""
_piece = re2.compile(PATTERN.encode())
_STANDARD = bytes.maketrans(b"-_", b"+/")


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text in which the escapes and the texts in Base64 are decoded."""

    data: bytes
    is_whole: bool
    """Whether all pieces are decoded."""
    _starts: list[int]
    _originals: list[int]

    def regions(self) -> Iterator[tuple[int, int]]:
        """Yield the spans of `data` around the pieces: all else stands in the original text."""
        first = last = 0
        for start, end in zip(self._starts[1::2], self._starts[2::2], strict=False):
            if start - _CONTEXT > last:
                if last:
                    yield first, last
                first = start - _CONTEXT
            last = min(end + _CONTEXT, len(self.data))
        yield first, last

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Return a span of the original text, with all of a text in Base64 that it touches."""
        return self._position(first, 0), self._position(last, 1)

    def _position(self, position: int, is_end: int) -> int:
        piece = bisect_right(self._starts, position) - 1
        offset = position - self._starts[piece]
        if piece % 2 == 0:
            return self._originals[piece] + offset
        return self._originals[piece + (is_end if offset else 0)]


def decoded(data: bytes) -> Decoded | None:
    """Return a text with its pieces decoded, or None if there are none."""
    matches = islice(_piece.finditer(data), MAX_PIECES)
    originals = [0, *chain.from_iterable(match.span() for match in matches), len(data)]
    pieces = [data[first:last] for first, last in pairwise(originals)]
    if len(pieces) == 1:
        return None
    pieces[1::2] = map(_meaning, pieces[1::2])
    starts = list(accumulate(map(len, pieces), initial=0))
    return Decoded(b"".join(pieces), len(pieces) <= 2 * MAX_PIECES, starts, originals)


def _meaning(piece: bytes) -> bytes:
    if piece.startswith(b"&"):
        return unescape(piece.decode()).encode()
    if piece.startswith((b"%", b"\\")):
        return b"/" if piece.endswith(b"/") else bytes.fromhex(piece[-2:].decode())
    return b64decode(piece[: len(piece) // 4 * 4].translate(_STANDARD))
