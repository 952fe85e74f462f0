"""The base of readers, which turn what a provider sends into events.

Servers differ from the formats of their APIs in many ways. What can be read is read. A part that
cannot be read does not end the answer; a warning marks it.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from heddle_runtime.errors import HeddleError, ProviderGarbledError
from msgspec.structs import replace

from heddle_connector.generation.events import AnswerWarning, Batch, Done, Event, ToolCall
from heddle_connector.http.sse import payloads_of
from heddle_connector.http.tolerant_json import BAD_JSON

_UNREADABLE = "A part of the model's answer could not be read and is missing."


class AnswerReader(ABC):
    """Reads the payloads of one answer, streamed or whole."""

    def __init__(self) -> None:
        self.finished = False
        """The answer has ended, or the provider failed. The rest can be ignored."""
        self._failure: HeddleError | None = None
        self._is_damaged = False  # whether a part could not be read
        self._has_content = False

    def read(self, payloads: Iterable[bytes | str]) -> Sequence[Event]:
        """Return the events of some payloads, up to one that fails.

        `check` raises the failure. So the caller receives the text before it.
        """
        return self._read(payloads, ended=False)

    def end(self, payloads: Iterable[bytes | str] = ()) -> Sequence[Event]:
        """Return the last events of an answer whose last payloads are `payloads`."""
        return self._read(payloads, ended=True)

    def check(self) -> None:
        """Raise the failure, if there is one.

        Raises:
            ProviderGarbledError: The answer has another format, or is not complete.
            HeddleError: The provider sent an error.
        """
        if self._failure is not None:
            raise self._failure

    def whole(self, body: bytes) -> Sequence[Event]:
        """Return the events of a whole answer, or of the stream that some servers always send.

        Raises:
            HeddleError: As `check`.
        """
        events = self.end(payloads_of(body))
        self.check()
        return events

    @abstractmethod
    def _payload(self, payload: bytes | str, batch: Batch) -> None:
        """Add the events of one payload.

        Raises:
            HeddleError: The answer fails.
            msgspec.DecodeError: The payload cannot be read.
        """

    @abstractmethod
    def _finish(self, batch: Batch) -> None:
        """Add the last events, at last by `_add_done`.

        Raises:
            HeddleError: The answer is not complete, or failed.
        """

    def _read(self, payloads: Iterable[bytes | str], *, ended: bool) -> Sequence[Event]:
        batch = Batch()
        try:
            for payload in payloads:
                try:
                    self._payload(payload, batch)
                except BAD_JSON:
                    self._read_lines(payload, batch)
                if self.finished:
                    break
            if ended and not self.finished:
                self._finish(batch)
        except HeddleError as error:
            self._failure = error
            self.finished = True
        return batch.events()

    def _read_lines(self, payload: bytes | str, batch: Batch) -> None:
        """Read an unreadable payload that is JSON on one line each, of which one is unreadable."""
        lines = payload.splitlines()
        if len(lines) <= 1:  # no part of the answer, unless it begins like one
            self._is_damaged |= payload.lstrip()[:1] in (b"{", "{")
            return
        for line in lines:
            if self.finished:
                break
            try:
                self._payload(line, batch)
            except BAD_JSON:
                self._read_lines(line, batch)

    def _add_text(self, text: str | None, batch: Batch) -> None:
        if text:
            batch.text(text)
            self._has_content = True

    def _add_reasoning(self, text: str | None, batch: Batch) -> None:
        if text:
            batch.reasoning(text)
            self._has_content = True

    def _add_call(self, call: ToolCall, batch: Batch) -> None:
        if call.name:
            batch.add(call)
            self._has_content = True
        else:
            self._is_damaged = True

    def _require_content(self) -> None:
        """Raise an error if nothing of the answer could be read."""
        if self._is_damaged and not self._has_content:
            raise ProviderGarbledError("The provider sent something that is not an answer.")

    def _add_done(self, done: Done, batch: Batch) -> None:
        """Add the last event, and the mark of an answer of which a part is missing."""
        self._require_content()
        if self._is_damaged:
            batch.add(AnswerWarning(_UNREADABLE))
            if done.finish_reason in ("stop", "unknown"):
                done = replace(done, finish_reason="length")
        self.finished = True
        batch.add(done)
