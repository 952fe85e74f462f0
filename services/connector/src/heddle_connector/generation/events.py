"""The events of an answer, which a connector yields."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from heddle.chat.v1.chat_pb2 import GeneratedImage

FinishReason = Literal["stop", "length", "tool_calls", "content_filter", "unknown"]


class TextDelta(msgspec.Struct, frozen=True):
    """The next piece of the answer's text."""

    text: str
    literal: bool = False
    """Whether the text is not a model's. Then no reasoning and no calls are read from it."""


class ReasoningDelta(msgspec.Struct, frozen=True):
    """The next piece of the model's reasoning."""

    text: str


class ToolCall(msgspec.Struct, frozen=True):
    """A complete tool call that the model requests."""

    id: str
    name: str
    arguments: str
    """The model's text, unchanged. Usually a JSON object; it has not been validated."""
    extra_json: str = ""
    """Passthrough fields of the call, as the text of one JSON object."""


class AnswerWarning(msgspec.Struct, frozen=True):
    """A warning about the answer for the user, in one sentence."""

    text: str


class Logprobs(msgspec.Struct, frozen=True):
    """Log probabilities of the text since the last such event, as the provider's JSON text."""

    json: str


class Usage(msgspec.Struct, frozen=True):
    """The tokens that an answer used."""

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
    """Other information from the provider; any JSON values."""
    message_extra_json: str = ""
    """Passthrough fields of the message, as the text of one JSON object."""


Event = TextDelta | ReasoningDelta | ToolCall | AnswerWarning | Logprobs | GeneratedImage | Done


class Batch:
    """Collects events that are ready at the same time, and joins adjacent deltas."""

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
        """Return the events in order."""
        if self._pieces:
            self._join(self._kind)
        return self._events

    def _join(self, next_kind: type[TextDelta | ReasoningDelta]) -> None:
        if self._pieces:
            self._events.append(
                self._kind(self._pieces[0] if len(self._pieces) == 1 else "".join(self._pieces))
            )
            self._pieces = []
        self._kind = next_kind
