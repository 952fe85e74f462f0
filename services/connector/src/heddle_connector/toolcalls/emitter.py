"""What is passed on of a message, and what is held back of it: white space, mostly."""

from heddle_connector.toolcalls.events import CallRead, ContentPiece, ReadEvent, ReasoningPiece


class Voice:
    """Collects events.

    White space waits until something visible follows it. At the end of content that has calls or
    reasoning beside it, and between them and content, it is dropped.
    """

    __slots__ = (
        *("_events", "_held", "_held_before", "_kind", "_parts", "_thoughts", "_waiting"),
        *("after_call", "aside", "blank", "said", "thinking"),
    )

    def __init__(self) -> None:
        self._events: list[ReadEvent] = []
        self._kind: type[ContentPiece | ReasoningPiece] = ContentPiece
        self._parts: list[str] = []
        self._held: list[str] = []
        self._held_before = 0  # how much of it stood before the last call
        self._waiting: list[str] = []  # white space of the reasoning
        self._thoughts = False
        self.said = False
        """Whether visible content was passed on."""
        self.aside = False
        """Whether there was anything but content."""
        self.after_call = False
        """Whether nothing visible followed the last call."""
        self.blank = True
        """Whether the line has nothing visible yet."""
        self.thinking = False
        """Whether content is passed on as reasoning: until the next call."""

    @property
    def free(self) -> bool:
        """Whether the next text can be passed on as it is."""
        return self.said and not (self._held or self.thinking or self.after_call)

    def say(self, text: str) -> None:
        """Pass content on."""
        if not text:
            return
        if self.thinking:
            self.think(text)
            return
        if self.said and not self._held and not text[-1].isspace():
            self._pass(ContentPiece, text)
            self.blank = self.after_call = False
            return
        visible = text.rstrip()
        line = text.rfind("\n") + 1
        if len(visible) > line:
            self.blank = False
        elif line:
            self.blank = True
        if not visible:
            self._held.append(text)
            return
        if self.aside and not self.said:
            self._held.clear()
            self._pass(ContentPiece, visible.lstrip())
        else:
            self._parts_of(ContentPiece).extend(self._held)
            self._held.clear()
            self._pass(ContentPiece, visible)
        if len(visible) < len(text):
            self._held.append(text[len(visible) :])
        self.said = True
        self.after_call = False

    def think(self, text: str) -> None:
        """Pass reasoning on."""
        visible = text.rstrip()
        if visible:
            if self._thoughts:
                self._parts_of(ReasoningPiece).extend(self._waiting)
                self._pass(ReasoningPiece, visible)
            else:
                self._pass(ReasoningPiece, visible.lstrip())
            self._waiting.clear()
            self._thoughts = True
        if len(visible) < len(text):
            self._waiting.append(text[len(visible) :])
        self.aside = True

    def rest(self) -> None:
        """End a piece of reasoning."""
        self._waiting.clear()
        self._thoughts = False
        self.aside = True
        self.blank = True

    def call(self, call: CallRead) -> None:
        """Pass a call on."""
        if self.thinking:
            self.thinking = False
            self.rest()
        self._join()
        self._events.append(call)
        self.aside = self.after_call = self.blank = True
        self._held_before = len(self._held)

    def forget_space(self) -> None:
        """Drop the white space after the last call: it stands between marks."""
        self.aside = True
        if self.after_call:
            del self._held[self._held_before :]

    def finish(self) -> None:
        """Pass on what waited for more."""
        if not self.aside:
            self._parts_of(ContentPiece).extend(self._held)

    def events(self) -> list[ReadEvent]:
        """Return what was passed on since the last time."""
        self._join()
        events = self._events
        self._events = []
        return events

    def _parts_of(self, kind: type[ContentPiece | ReasoningPiece]) -> list[str]:
        if self._kind is not kind:
            self._join()
            self._kind = kind
        return self._parts

    def _pass(self, kind: type[ContentPiece | ReasoningPiece], text: str) -> None:
        self._parts_of(kind).append(text)

    def _join(self) -> None:
        if self._parts:
            text = self._parts[0] if len(self._parts) == 1 else "".join(self._parts)
            self._events.append(self._kind(text))
            self._parts = []
