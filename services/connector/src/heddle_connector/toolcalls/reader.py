"""Reads the text of a model as it comes: content, reasoning, and calls in any format."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from heddle_connector.toolcalls.delimiters import marks_for
from heddle_connector.toolcalls.emitter import Voice
from heddle_connector.toolcalls.events import (
    CallCutOff,
    CallRead,
    ContentPiece,
    ReadEvent,
    ReasoningPiece,
    ToolCallReading,
)
from heddle_connector.toolcalls.functions import Functions
from heddle_connector.toolcalls.message_parser import Message
from heddle_connector.toolcalls.source import Source


class ToolCallReader:
    """Tells calls, reasoning and content apart, in a message that comes in pieces.

    However the message is cut, the events say the same; only where texts are cut may differ. A
    call is told of once, when it is complete. No text costs more than time in proportion to its
    length, and none raises an exception.
    """

    def __init__(
        self,
        functions: Sequence[Mapping[str, Any]] = (),
        *,
        reasoning_prefilled: bool = False,
        formats: Collection[str] | None = None,
    ) -> None:
        """Begin a message.

        Args:
            functions: What the request offers: OpenAI's function objects, or tool objects. They
                give the types of arguments, and tell calls without any mark from mere JSON.
            reasoning_prefilled: Whether the prompt ended inside of the model's reasoning.
            formats: Names of the formats that the model uses, as in
                `heddle_connector.toolcalls.formats`; None for all.

        Raises:
            ValueError: There is no format of such a name.
        """
        self._marks = marks_for(None if formats is None else frozenset(formats))
        self._source = Source()
        self._voice = Voice()
        self._message = Message(self._source, self._voice, Functions(functions), self._marks)
        self._scan = self._message.read(prefilled=reasoning_prefilled)
        self._passed = ""
        next(self._scan)

    def feed(self, piece: str) -> list[ReadEvent]:
        """Return what the piece of the message completes."""
        if self._message.resting:
            if not self._marks.promising(piece):
                if not piece:
                    return []
                self._passed = piece
                return [ContentPiece(piece)]
            if self._passed:
                self._source.passed(self._passed[-1])
                self._voice.blank = False
                self._passed = ""
        self._source.feed(piece)
        next(self._scan)
        return self._voice.events()

    def finish(self) -> list[ReadEvent]:
        """End the message; return what its end decides."""
        self._source.end()
        for _ in self._scan:
            pass
        self._voice.finish()
        events = self._voice.events()
        if self._message.cut_off:
            events.append(CallCutOff(self._message.cut_off))
        return events


def read_tool_calls(
    text: str,
    functions: Sequence[Mapping[str, Any]] = (),
    *,
    reasoning_prefilled: bool = False,
    formats: Collection[str] | None = None,
) -> ToolCallReading:
    """Read a whole message: what `ToolCallReader` tells of its pieces.

    Raises:
        ValueError: There is no format of such a name.
    """
    reader = ToolCallReader(functions, reasoning_prefilled=reasoning_prefilled, formats=formats)
    return reading_of([*reader.feed(text), *reader.finish()])


def reading_of(events: Sequence[ReadEvent]) -> ToolCallReading:
    """Return what all events of a message say together."""
    return ToolCallReading(
        calls=[event for event in events if isinstance(event, CallRead)],
        content="".join(event.text for event in events if isinstance(event, ContentPiece)),
        reasoning="".join(event.text for event in events if isinstance(event, ReasoningPiece)),
        cut_off="".join(event.text for event in events if isinstance(event, CallCutOff)),
    )
