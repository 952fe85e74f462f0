"""What the text of a model turns out to be."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ContentPiece:
    """The next piece of what the model says to the person."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningPiece:
    """The next piece of what the model says to itself."""

    text: str


@dataclass(frozen=True, slots=True)
class CallRead:
    """A complete call."""

    name: str
    """As the model wrote it. Nobody has checked that such a function is offered."""
    arguments: dict[str, Any]
    """JSON values. Nobody has checked them against the schema of the function."""


@dataclass(frozen=True, slots=True)
class CallCutOff:
    """The message ended inside a call: the last event, at most once."""

    text: str
    """What was written of the call, marks included. Not part of the content."""


ReadEvent = ContentPiece | ReasoningPiece | CallRead | CallCutOff


@dataclass(frozen=True, slots=True)
class ToolCallReading:
    """A whole message, read."""

    calls: list[CallRead] = field(default_factory=list)
    """The complete calls, in the order in which they were written."""
    content: str = ""
    """What the model says to the person, without calls, marks and reasoning."""
    reasoning: str = ""
    """What the model says to itself."""
    cut_off: str = ""
    """What was written of a call that the end of the message cut off; usually empty."""
