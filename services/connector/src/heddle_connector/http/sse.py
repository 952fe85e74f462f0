"""Decodes server-sent events from a stream of bytes."""

from heddle_runtime.errors import ProviderGarbledError

from heddle_connector.http.lines import MAX_LINE_BYTES, LineDecoder
from heddle_connector.http.response import MAX_BODY_BYTES

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # allowed at the start of a stream; ignored


class SseDecoder:
    """Extracts the data of server-sent events.

    The decoder ignores names, ids and retry times of events, and comments: no provider's response
    depends on them. A line that begins a JSON object counts as an event, as some servers answer
    with JSON, on one line for each event or on several lines in total.
    """

    __slots__ = ("_data", "_is_json", "_lines", "_max_bytes", "_size", "_started")

    def __init__(self, max_bytes: int = MAX_LINE_BYTES) -> None:
        self._lines = LineDecoder(max_bytes)
        self._max_bytes = max_bytes
        self._started = False
        self._is_json = False  # whether the rest of the stream is one JSON object
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
        return self._events(self._lines.end()) + self._take()

    def _events(self, lines: list[bytes]) -> list[bytes]:
        events = []
        if not self._started and lines:
            self._started = True
            lines[0] = lines[0].removeprefix(_BYTE_ORDER_MARK)
        for line in lines:
            if line.startswith(b"data:"):
                if self._is_json:  # no line of JSON begins like this
                    events += self._take()
                    self._is_json = False
                self._add(line[6:] if line.startswith(b"data: ") else line[5:])
            elif self._is_json:
                self._add(line)
            elif not line:
                events += self._take()
            elif line == b"data":
                self._add(b"")
            elif line.lstrip()[:1] == b"{":
                events += self._take()
                self._add(line)
                self._is_json = not line.rstrip().endswith(b"}")
                events += [] if self._is_json else self._take()
        return events

    def _take(self) -> list[bytes]:
        """Return the data of the event that ends, if it has any."""
        if not self._data:
            return []
        data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
        self._data = []
        self._size = 0
        return [data]

    def _add(self, value: bytes) -> None:
        self._data.append(value)
        self._size += len(value) + 1
        if self._size > self._max_bytes:
            raise ProviderGarbledError(
                f"The provider sent an event of more than {self._max_bytes} bytes."
            )


def payloads_of(body: bytes) -> list[bytes]:
    """Return the data of the events in a whole body, or the JSON object that the body is."""
    if body.startswith(b"{") and b"data:" not in body:  # the usual form of a whole answer
        return [body]
    decoder = SseDecoder(MAX_BODY_BYTES)
    return [*decoder.feed(body), *decoder.end()]
