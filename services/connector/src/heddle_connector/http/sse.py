"""Decodes server-sent events from a stream of bytes."""

from heddle_runtime.errors import ProviderGarbledError

from heddle_connector.http.lines import MAX_LINE_BYTES, LineDecoder

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # allowed at the start of a stream; ignored


class SseDecoder:
    """Extracts the data of server-sent events.

    The decoder ignores names, ids and retry times of events, and comments: no provider's response
    depends on them. Lines end in LF or CRLF; no provider uses the lone CR that the standard allows.
    """

    __slots__ = ("_data", "_lines", "_max_bytes", "_size", "_started")

    def __init__(self, max_bytes: int = MAX_LINE_BYTES) -> None:
        self._lines = LineDecoder(max_bytes)
        self._max_bytes = max_bytes
        self._started = False
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the data of the events that `chunk` completes.

        Raises:
            ProviderGarbledError: A line or an event is longer than allowed.
        """
        # The usual form of a token: one event with one line in one chunk.
        if (
            self._started
            and not self._data
            and chunk.startswith(b"data: ")
            and chunk.find(b"\n") == len(chunk) - 2
            and chunk.endswith(b"\n\n")
            and len(chunk) < self._max_bytes
            and b"\r" not in chunk
            and not self._lines.pending
        ):
            return [chunk[6:-2]]
        return self._events(self._lines.feed(chunk))

    def end(self) -> list[bytes]:
        """Return the data of the last event if the stream ended without an empty line."""
        return self._events([self._lines.end(), b""])

    def _events(self, lines: list[bytes]) -> list[bytes]:
        events = []
        if not self._started and lines:
            self._started = True
            lines[0] = lines[0].removeprefix(_BYTE_ORDER_MARK)
        for line in lines:
            if line.startswith(b"data:"):
                self._add(line[6:] if line.startswith(b"data: ") else line[5:])
            elif not line:
                if self._data:
                    events.append(self._data[0] if len(self._data) == 1 else b"\n".join(self._data))
                    self._data = []
                    self._size = 0
            elif line == b"data":
                self._add(b"")
        return events

    def _add(self, value: bytes) -> None:
        self._data.append(value)
        self._size += len(value) + 1
        if self._size > self._max_bytes:
            raise ProviderGarbledError(
                f"The provider sent an event of more than {self._max_bytes} bytes."
            )
