"""Lines out of pieces of bytes that were cut anywhere."""

from heddle_runtime.errors import ProviderGarbledError

LONGEST_LINE = 8 * 1024 * 1024
"""Bytes. Room for a picture in base64, far below what a gRPC message may hold."""


class LineDecoder:
    """Splits a stream of bytes at LF or CRLF, in time proportional to its length."""

    __slots__ = ("_longest", "_size", "_tail")

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._longest = longest
        self._size = 0
        # Pieces of the line that has no end yet. Joined once: to append to one `bytes` again and
        # again would let a provider that drips an endless line cost quadratic time.
        self._tail: list[bytes] = []

    @property
    def pending(self) -> bool:
        """Whether a line has begun and not ended."""
        return bool(self._tail)

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the lines that `piece` completes, without their ends.

        Raises:
            ProviderGarbledError: A line is longer than allowed.
        """
        if b"\n" not in piece:
            self._keep(piece)
            return []
        if self._tail:
            self._tail.append(piece)
            piece = b"".join(self._tail)
            self._tail.clear()
            self._size = 0
        lines = piece.split(b"\n")
        if rest := lines.pop():
            self._keep(rest)
        if b"\r" in piece:
            return [line[:-1] if line.endswith(b"\r") else line for line in lines]
        return lines

    def end(self) -> bytes:
        """Return the last line, if the stream ended without a line end."""
        line = b"".join(self._tail)
        self._tail.clear()
        return line.removesuffix(b"\r")

    def _keep(self, piece: bytes) -> None:
        self._tail.append(piece)
        self._size += len(piece)
        if self._size > self._longest:
            raise ProviderGarbledError(
                f"The provider sent a line of more than {self._longest} bytes."
            )
