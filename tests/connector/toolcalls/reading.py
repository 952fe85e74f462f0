"""Reads messages in pieces, as a connector would."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from heddle_connector.toolcalls import ReadEvent, ToolCallReader, ToolCallReading, reading_of


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
