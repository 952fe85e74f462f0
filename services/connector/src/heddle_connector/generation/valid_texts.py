"""Makes the texts of an answer valid Unicode, whatever the provider or a plugin sends."""

import re
from collections.abc import Sequence

from heddle_runtime.contract.unicode_text import valid_json, valid_text
from msgspec.structs import replace

from heddle_connector.generation.events import (
    AnswerWarning,
    Done,
    Event,
    Logprobs,
    ReasoningDelta,
    TextDelta,
    ToolCall,
)

# The beginning of a character at the end of a text: a half, or bytes as `unicode_text` has them.
_BEGUN = re.compile(
    r"(?:[\ud800-\udbff]|(?<![\ud800-\udbff])[\udcc2-\udcf4][\udc80-\udcbf]{0,2})\Z"
)
_MAX_BEGUN = 4
"""Characters at the end of a text that the pattern looks at."""


class ValidTexts:
    """Reads the events of one answer.

    Some providers cut a character: into its two surrogates, or into its bytes. Its beginning is
    held back until the rest arrives.
    """

    __slots__ = ("_half",)

    def __init__(self) -> None:
        self._half: TextDelta | ReasoningDelta | None = None

    def take(self, events: Sequence[Event]) -> Sequence[Event]:
        """Return the events with valid texts."""
        if self._half is None and all(map(_is_valid, events)):
            return events
        valid: list[Event] = []
        for event in events:
            if isinstance(event, TextDelta | ReasoningDelta):
                valid += self._delta(event)
            elif isinstance(event, Logprobs):  # stands between two pieces of one text
                valid.append(_valid(event))
            else:
                valid += [*self.end(), _valid(event)]
        return valid

    def end(self) -> Sequence[Event]:
        """Return the incomplete character that was held back, as valid text."""
        half, self._half = self._half, None
        return [] if half is None else [replace(half, text=valid_text(half.text))]

    def _delta(self, delta: TextDelta | ReasoningDelta) -> Sequence[Event]:
        half = self._half
        if half is not None and type(half) is type(delta):
            delta, self._half = replace(delta, text=half.text + delta.text), None
        before = self.end()
        text = delta.text
        if begun := _BEGUN.search(text[-_MAX_BEGUN:]):
            self._half = replace(delta, text=begun[0])
            text = text[: -len(begun[0])]
        return [*before, replace(delta, text=valid_text(text))] if text else before


def _is_valid(event: Event) -> bool:
    """Return whether an event of a usual kind has valid texts. False: it has to be looked at."""
    if type(event) is TextDelta:
        text = event.text
    elif type(event) is Done and not event.message_extra_json:
        text = event.model
    else:
        return False
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _valid(event: Event) -> Event:
    match event:
        case ToolCall():
            return ToolCall(
                valid_text(event.id),
                valid_text(event.name),
                valid_json(event.arguments),
                valid_json(event.extra_json),
            )
        case Done():
            extra = valid_json(event.message_extra_json)
            return replace(event, model=valid_text(event.model), message_extra_json=extra)
        case Logprobs():
            return Logprobs(valid_json(event.json))
        case AnswerWarning():
            return AnswerWarning(valid_text(event.text))
        case _:
            return event
