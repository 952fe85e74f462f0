"""The events of parsing a model's text."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ContentPiece:
    """The next piece of content for the user."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningPiece:
    """The next piece of the model's reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class CallRead:
    """A complete call."""

    name: str
    """As the model wrote it. It has not been checked against the declared functions."""
    arguments: dict[str, Any]
    """JSON values. They have not been validated against the schema of the function."""


@dataclass(frozen=True, slots=True)
class CallCutOff:
    """The message ended inside a call: the last event, at most once."""

    text: str
    """The text of the call, including delimiters. Also the end of the content, or of the reasoning
    if that has no end."""


ReadEvent = ContentPiece | ReasoningPiece | CallRead | CallCutOff
