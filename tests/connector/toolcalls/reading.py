"""Reads messages in pieces, as a connector would."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from heddle_connector.toolcalls import (
    CallCutOff,
    CallRead,
    ContentPiece,
    ReadEvent,
    ReasoningPiece,
    ToolCallReader,
)


@dataclass(frozen=True, slots=True)
class ToolCallReading:
    """The result of reading a whole message."""

    calls: list[CallRead] = field(default_factory=list)
    """The complete calls in order."""
    content: str = ""
    """The content for the user, without calls, delimiters and reasoning."""
    reasoning: str = ""
    """The model's reasoning."""
    cut_off: str = ""
    """The text of a call that the end of the message cut off; usually empty."""


def read_tool_calls(
    text: str,
    functions: Sequence[Mapping[str, Any]] = (),
    *,
    reasoning_prefilled: bool = False,
    formats: Collection[str] | None = None,
) -> ToolCallReading:
    """Read a whole message, as `ToolCallReader` does in chunks.

    Raises:
        ValueError: There is no format of such a name.
    """
    reader = ToolCallReader(functions, reasoning_prefilled=reasoning_prefilled, formats=formats)
    return reading_of([*reader.feed(text), *reader.finish()])


def reading_of(events: Sequence[ReadEvent]) -> ToolCallReading:
    """Return all events of a message as one result."""
    return ToolCallReading(
        calls=[event for event in events if isinstance(event, CallRead)],
        content="".join(event.text for event in events if isinstance(event, ContentPiece)),
        reasoning="".join(event.text for event in events if isinstance(event, ReasoningPiece)),
        cut_off="".join(event.text for event in events if isinstance(event, CallCutOff)),
    )


def events_of(
    pieces: Iterable[str],
    functions: Sequence[Mapping[str, Any]] = (),
    *,
    prefilled: bool = False,
) -> list[ReadEvent]:
    """Return the events of a message that comes in pieces."""
    reader = ToolCallReader(functions, reasoning_prefilled=prefilled)
    events = [event for piece in pieces for event in reader.feed(piece)]
    return events + reader.finish()


def read_pieces(
    pieces: Iterable[str],
    functions: Sequence[Mapping[str, Any]] = (),
    *,
    prefilled: bool = False,
) -> ToolCallReading:
    """Read a message that comes in pieces."""
    return reading_of(events_of(pieces, functions, prefilled=prefilled))


def calls_in(reading: ToolCallReading) -> list[tuple[str, dict[str, Any]]]:
    """Return names and arguments."""
    return [(call.name, call.arguments) for call in reading.calls]
