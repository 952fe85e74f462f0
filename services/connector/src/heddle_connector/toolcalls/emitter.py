"""Emits message text, holding back white space and delimiters until it is clear what they are."""

from heddle_connector.toolcalls.events import CallRead, ContentPiece, ReadEvent, ReasoningPiece


class Emitter:
    """Collects events.

    White space is held back until visible text follows. If the message contains calls or
    reasoning, white space between them and content, and at the end of content, is dropped. A
    delimiter that stands before calls is held back like white space: it is dropped if a call
    follows, and is text otherwise.
    """

    __slots__ = (
        *("_events", "_held", "_held_before_call", "_kind", "_parts", "_pending"),
        *("_message_end", "_pending_opens", "_waiting", "_waiting_opens", "last"),
        *("after_call", "as_reasoning", "at_line_start", "cut_off", "has_content", "has_other"),
        "in_reasoning",
    )

    def __init__(self) -> None:
        self._events: list[ReadEvent] = []
        self._kind: type[ContentPiece | ReasoningPiece] = ContentPiece
        self._parts: list[str] = []
        self._held: list[str] = []
        self._held_before_call = 0  # how many of them precede the last call
        self._pending: int | None = None  # the first of them that is a delimiter
        self._pending_opens = False  # whether one of these delimiters stands before calls
        self._message_end: int | None = None  # the first of them that may end the message
        self._waiting: list[str] = []  # white space of the reasoning, and delimiters
        self._waiting_opens = False
        self.in_reasoning = False
        """Whether visible text of the current reasoning was emitted."""
        self.has_content = False
        """Whether visible content was emitted."""
        self.has_other = False
        """Whether anything other than content was emitted."""
        self.after_call = False
        """Whether no visible text followed the last call."""
        self.at_line_start = True
        """Whether the current line has no visible text yet."""
        self.last = ""
        """The last visible character of the content."""
        self.as_reasoning = False
        """Whether content is emitted as reasoning, until the next call."""
        self.cut_off = ""
        """The text of a call that the end of the message cuts off. It was emitted."""

    @property
    def holds_opener(self) -> bool:
        """Whether the emitter holds back a delimiter that stands before calls."""
        return self._pending_opens or self._waiting_opens

    def is_unchanged(self, text: str) -> bool:
        """Return whether `emit_content` emits exactly this text."""
        if self.as_reasoning or self._held or not self.has_content:
            return False
        return bool(text) and not text[-1].isspace()

    def emit_content(self, text: str) -> None:
        """Emit content."""
        if not text:
            return
        if self.as_reasoning:
            self.emit_reasoning(text)
            return
        if self.is_unchanged(text):
            self._append(ContentPiece, text)
            self.at_line_start = self.after_call = False
            self.last = text[-1]
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
        if self._emit_held():
            self._append(ContentPiece, visible)
        else:
            self._append(ContentPiece, visible.lstrip())
        if len(visible) < len(text):
            self._held.append(text[len(visible) :])
        self.has_content = True
        self.after_call = False
        self.last = visible[-1]

    def hold_message_end(self, text: str) -> None:
        """Hold back a mark of the end of the message, which is text if other text follows."""
        if self.as_reasoning:
            return
        if self._message_end is None:
            self._message_end = len(self._held)
        self._held.append(text)

    def hold_delimiter(self, text: str, *, opens: bool) -> None:
        """Hold back a delimiter around calls, which is text if no call follows.

        Args:
            text: The delimiter.
            opens: Whether it stands before calls.
        """
        if self.as_reasoning:
            self._waiting.append(text)
            self._waiting_opens = self._waiting_opens or opens
            return
        if self._pending_opens and not opens:  # a section without a call
            del self._held[self._pending :]
            self._forget_pending()
            self.has_other = True
            return
        if self._pending is None:
            self._pending = len(self._held)
        self._pending_opens = self._pending_opens or opens
        self._held.append(text)
        self.at_line_start = True

    def emit_cut_off(self, text: str) -> None:
        """Emit the text of a call that the end of the message cuts off, as the model wrote it."""
        if self.as_reasoning:
            self.cut_off = "".join(self._waiting).lstrip() + text
            self._emit_waiting(text)
            return
        self.cut_off = "".join(self._held_from(self._pending)) + text
        self._emit_held()
        self._append(ContentPiece, text)

    def emit_reasoning(self, text: str) -> None:
        """Emit reasoning."""
        visible = text.rstrip()
        if visible:
            self._emit_waiting(visible)
        if len(visible) < len(text):
            self._waiting.append(text[len(visible) :])
        self.has_other = True

    def end_reasoning(self) -> None:
        """End a section of reasoning."""
        self._waiting.clear()
        self._waiting_opens = False
        self.in_reasoning = False
        self.has_other = True
        self.at_line_start = True

    def emit_call(self, call: CallRead) -> None:
        """Emit a call."""
        if self.as_reasoning:
            self.as_reasoning = False
            self.end_reasoning()
        if self._pending is not None:
            del self._held[self._pending :]
            self._forget_pending()
        self._drop_message_end()
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
        """Emit what was held back and turns out to be text."""
        if self.cut_off:
            return
        self._drop_message_end()
        if self.as_reasoning and "".join(self._waiting).strip():
            self.cut_off = "".join(self._waiting).strip() if self._waiting_opens else ""
            self._emit_waiting("")
        if self._pending is not None:
            pending = "".join(self._held_from(self._pending))
            self.cut_off = pending if self._pending_opens else ""
            self._emit_held()
        elif not self.has_other:
            self._parts_of(ContentPiece).extend(self._held)

    def _drop_message_end(self) -> None:
        if self._message_end is not None:
            del self._held[self._message_end :]
            self._message_end = None
            self.has_other = True

    def events(self) -> list[ReadEvent]:
        """Return the events since the last call of this method."""
        self._join()
        events = self._events
        self._events = []
        return events

    def _emit_waiting(self, text: str) -> None:
        text = "".join((*self._waiting, text))
        self._append(ReasoningPiece, text if self.in_reasoning else text.lstrip())
        self._waiting.clear()
        self._waiting_opens = False
        self.in_reasoning = True

    def _emit_held(self) -> bool:
        """Emit what was held back before visible text; return whether the text follows directly.

        White space between reasoning or a call and the first content is dropped.
        """
        is_first = self.has_other and not self.has_content
        first = self._message_end if self._pending is None else self._pending
        held = self._held if not is_first else self._held_from(first)
        self._parts_of(ContentPiece).extend(held)
        follows = not is_first or bool(held)
        self._held.clear()
        self._message_end = None
        self._forget_pending()
        return follows

    def _held_from(self, first: int | None) -> list[str]:
        return [] if first is None else self._held[first:]

    def _forget_pending(self) -> None:
        self._pending = None
        self._pending_opens = False

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
