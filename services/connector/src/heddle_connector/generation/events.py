"""What a connector yields: the events of an answer."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

FinishReason = Literal["stop", "length", "tool_calls", "content_filter", "unknown"]


class TextDelta(msgspec.Struct, frozen=True):
    """The next piece of the answer's text."""

    text: str


class ReasoningDelta(msgspec.Struct, frozen=True):
    """The next piece of the model's reasoning."""

    text: str


class ToolCall(msgspec.Struct, frozen=True):
    """A complete call that the model asks for."""

    id: str
    name: str
    arguments: str
    """Exactly what the model wrote. Usually a JSON object, but nobody has checked."""
    extra_json: str = ""
    """What else the provider put into the call, as the text of one JSON object."""


class Logprobs(msgspec.Struct, frozen=True):
    """Log probabilities of the text since the last such event, as the provider's JSON text."""

    json: str


class Picture(msgspec.Struct, frozen=True):
    """A picture that the model made. `Call.keep` makes these."""

    name: str
    """What it is kept as."""
    media_type: str
    data: bytes


class Usage(msgspec.Struct, frozen=True):
    """What an answer consumed, in tokens."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    """Part of `prompt_tokens`."""
    reasoning_tokens: int = 0
    """Part of `completion_tokens`."""


class Done(msgspec.Struct, frozen=True):
    """The answer is complete. The last event, exactly once."""

    finish_reason: FinishReason
    usage: Usage | None = None
    model: str = ""
    """The model that answered, as the provider names it."""
    provider_metadata: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """What else the provider told; any JSON values."""
    message_extra_json: str = ""
    """What else the provider put into its message, as the text of one JSON object."""


Event = TextDelta | ReasoningDelta | ToolCall | Logprobs | Picture | Done


class Batch:
    """Collects the events that are ready at the same time, and joins neighbouring deltas."""

    __slots__ = ("_events", "_kind", "_pieces")

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._kind: type[TextDelta | ReasoningDelta] = TextDelta
        self._pieces: list[str] = []

    def text(self, piece: str) -> None:
        """Add a piece of text."""
        if self._kind is not TextDelta:
            self._join(TextDelta)
        self._pieces.append(piece)

    def reasoning(self, piece: str) -> None:
        """Add a piece of reasoning."""
        if self._kind is not ReasoningDelta:
            self._join(ReasoningDelta)
        self._pieces.append(piece)

    def add(self, event: Event) -> None:
        """Add any other event."""
        self._join(self._kind)
        self._events.append(event)

    def events(self) -> list[Event]:
        """Return what was added, in order."""
        if self._pieces:
            self._join(self._kind)
        return self._events

    def _join(self, following: type[TextDelta | ReasoningDelta]) -> None:
        if self._pieces:
            self._events.append(
                self._kind(self._pieces[0] if len(self._pieces) == 1 else "".join(self._pieces))
            )
            self._pieces = []
        self._kind = following
