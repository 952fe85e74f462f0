"""Emits message text, holding back trailing white space until more text arrives."""

from heddle_connector.toolcalls.events import CallRead, ContentPiece, ReadEvent, ReasoningPiece


class Emitter:
    """Collects events.

    White space is held back until visible text follows. If the message contains calls or
    reasoning, white space between them and content, and at the end of content, is dropped.
    """

    __slots__ = (
        *("_events", "_held", "_held_before_call", "_in_reasoning", "_kind", "_parts", "_waiting"),
        *("after_call", "as_reasoning", "at_line_start", "has_content", "has_other"),
    )

    def __init__(self) -> None:
        self._events: list[ReadEvent] = []
        self._kind: type[ContentPiece | ReasoningPiece] = ContentPiece
        self._parts: list[str] = []
        self._held: list[str] = []
        self._held_before_call = 0  # how many of them precede the last call
        self._waiting: list[str] = []  # white space of the reasoning
        self._in_reasoning = False
        self.has_content = False
        """Whether visible content was emitted."""
        self.has_other = False
        """Whether anything other than content was emitted."""
        self.after_call = False
        """Whether no visible text followed the last call."""
        self.at_line_start = True
        """Whether the current line has no visible text yet."""
        self.as_reasoning = False
        """Whether content is emitted as reasoning, until the next call."""

    def emit_content(self, text: str) -> None:
        """Emit content."""
        if not text:
            return
        if self.as_reasoning:
            self.emit_reasoning(text)
            return
        if self.has_content and not self._held and not text[-1].isspace():
            self._append(ContentPiece, text)
            self.at_line_start = self.after_call = False
            return
        visible = text.rstrip()
        line = text.rfind("\n") + 1
        if len(visible) > line:
            self.at_line_start = False
        elif line:
            self.at_line_start = True
        if not visible:
            self._held.append(text)
            return
        if self.has_other and not self.has_content:
            self._held.clear()
            self._append(ContentPiece, visible.lstrip())
        else:
            self._parts_of(ContentPiece).extend(self._held)
            self._held.clear()
            self._append(ContentPiece, visible)
        if len(visible) < len(text):
            self._held.append(text[len(visible) :])
        self.has_content = True
        self.after_call = False

    def emit_reasoning(self, text: str) -> None:
        """Emit reasoning."""
        visible = text.rstrip()
        if visible:
            if self._in_reasoning:
                self._parts_of(ReasoningPiece).extend(self._waiting)
                self._append(ReasoningPiece, visible)
            else:
                self._append(ReasoningPiece, visible.lstrip())
            self._waiting.clear()
            self._in_reasoning = True
        if len(visible) < len(text):
            self._waiting.append(text[len(visible) :])
        self.has_other = True

    def end_reasoning(self) -> None:
        """End a section of reasoning."""
        self._waiting.clear()
        self._in_reasoning = False
        self.has_other = True
        self.at_line_start = True

    def emit_call(self, call: CallRead) -> None:
        """Emit a call."""
        if self.as_reasoning:
            self.as_reasoning = False
            self.end_reasoning()
        self._join()
        self._events.append(call)
        self.has_other = self.after_call = self.at_line_start = True
        self._held_before_call = len(self._held)

    def drop_whitespace(self) -> None:
        """Drop the white space after the last call, which is between delimiters."""
        self.has_other = True
        if self.after_call:
            del self._held[self._held_before_call :]

    def finish(self) -> None:
        """Emit white space that was held back."""
        if not self.has_other:
            self._parts_of(ContentPiece).extend(self._held)

    def events(self) -> list[ReadEvent]:
        """Return the events since the last call of this method."""
        self._join()
        events = self._events
        self._events = []
        return events

    def _parts_of(self, kind: type[ContentPiece | ReasoningPiece]) -> list[str]:
        if self._kind is not kind:
            self._join()
            self._kind = kind
        return self._parts

    def _append(self, kind: type[ContentPiece | ReasoningPiece], text: str) -> None:
        self._parts_of(kind).append(text)

    def _join(self) -> None:
        if self._parts:
            text = self._parts[0] if len(self._parts) == 1 else "".join(self._parts)
            self._events.append(self._kind(text))
            self._parts = []
