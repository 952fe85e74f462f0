"""Splits a stream of bytes into lines."""

from heddle_runtime.errors import ProviderGarbledError

MAX_LINE_BYTES = 8 * 1024 * 1024
"""Enough for an image in base64, and far below the limit of a gRPC message."""


class LineDecoder:
    """Splits a stream of bytes at LF, CRLF or CR, in time proportional to its length."""

    __slots__ = ("_after_cr", "_max_bytes", "_size", "_tail")

    def __init__(self, max_bytes: int = MAX_LINE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._size = 0
        self._after_cr = False  # whether the last chunk ended with CR, which LF may follow
        # Chunks of the unfinished line, joined once. Appending to one `bytes` would cost quadratic
        # time if a provider sends an endless line in small chunks.
        self._tail: list[bytes] = []

    @property
    def pending(self) -> bool:
        """Whether the stream so far ends inside a line, or with a CR that LF may follow."""
        return bool(self._tail) or self._after_cr

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines that `chunk` completes, without line ends.

        Raises:
            ProviderGarbledError: A line is longer than allowed.
        """
        if self._after_cr or b"\r" in chunk:
            chunk = self._with_line_feeds(chunk)
        if b"\n" not in chunk:
            self._append(chunk)
            return []
        if self._tail:
            self._tail.append(chunk)
            chunk = b"".join(self._tail)
            self._tail.clear()
            self._size = 0
        lines = chunk.split(b"\n")
        if rest := lines.pop():
            self._append(rest)
        return lines

    def end(self) -> list[bytes]:
        """Return the last line if the stream ended without a line end."""
        line = b"".join(self._tail)
        self._tail.clear()
        return [line] if line else []

    def _with_line_feeds(self, chunk: bytes) -> bytes:
        if self._after_cr:
            chunk = chunk.removeprefix(b"\n")
        self._after_cr = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _append(self, chunk: bytes) -> None:
        self._tail.append(chunk)
        self._size += len(chunk)
        if self._size > self._max_bytes:
            raise ProviderGarbledError(
                f"The provider sent a line of more than {self._max_bytes} bytes."
            )
