"""Server-sent events out of pieces of bytes that were cut anywhere."""

from heddle_runtime.errors import ProviderGarbledError

from heddle_connector.http.lines import LONGEST_LINE, LineDecoder

_MARK = b"\xef\xbb\xbf"  # a byte order mark may come first, and means nothing


class SseDecoder:
    """Finds the data of server-sent events.

    Names, ids and retry times of events are ignored, as are comments: no provider's answer
    depends on them. Lines end in LF or CRLF; no provider uses the lone CR that is allowed too.
    """

    __slots__ = ("_begun", "_data", "_lines", "_longest", "_size")

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._lines = LineDecoder(longest)
        self._longest = longest
        self._begun = False
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the data of the events that `piece` completes.

        Raises:
            ProviderGarbledError: A line or an event is longer than allowed.
        """
        # One event of one line in one piece: what a token usually is.
        if (
            self._begun
            and not self._data
            and piece.startswith(b"data: ")
            and piece.find(b"\n") == len(piece) - 2
            and piece.endswith(b"\n\n")
            and len(piece) < self._longest
            and b"\r" not in piece
            and not self._lines.pending
        ):
            return [piece[6:-2]]
        return self._events(self._lines.feed(piece))

    def end(self) -> list[bytes]:
        """Return the data of the last event, if no empty line ended it."""
        return self._events([self._lines.end(), b""])

    def _events(self, lines: list[bytes]) -> list[bytes]:
        events = []
        if not self._begun and lines:
            self._begun = True
            lines[0] = lines[0].removeprefix(_MARK)
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
        if self._size > self._longest:
            raise ProviderGarbledError(
                f"The provider sent an event of more than {self._longest} bytes."
            )
