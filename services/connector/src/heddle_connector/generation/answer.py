"""The events of one answer, with valid texts and one end."""

import asyncio
from collections.abc import Iterator, Sequence
from functools import partial

import msgspec
from heddle_runtime.errors import ProviderGarbledError
from heddle_runtime.telemetry import spans

from heddle_connector.generation import tracing
from heddle_connector.generation.call import Call
from heddle_connector.generation.events import Done, Event, TextDelta
from heddle_connector.generation.model_text import ModelText
from heddle_connector.generation.traced_texts import TracedTexts
from heddle_connector.generation.valid_texts import ValidTexts

_TURN = 2_048
"""Characters that are read at a time, in about a millisecond: a chat has many short steps."""


class Answer:
    """Enforces valid texts, and the end of an answer: one `Done`, and nothing after it."""

    # Not a generator: another generator would cost each token more than the work done here.
    __slots__ = ("_done", "_text", "_traced", "_valid")

    def __init__(self, text: ModelText, traced: TracedTexts | None) -> None:
        self._done: Done | None = None
        self._text = text
        self._traced = traced
        self._valid = ValidTexts()

    async def take_in_turns(self, events: Sequence[Event]) -> Sequence[Event]:
        """Return the same as `take`. Other calls have turns while a long text is read."""
        if is_short(events):
            return self.take(events)
        result: list[Event] = []
        for event in events:
            for part in _parts(event):
                result += self.take([part])
                await asyncio.sleep(0)
        return result

    def take(self, events: Sequence[Event]) -> Sequence[Event]:
        """Return the events up to `Done`, with what is written into the text as events."""
        if self._done or not events:
            return ()
        events = self._valid.take(events)
        for number, event in enumerate(events):
            if type(event) is Done:
                self._done = event
                events = events[: number + 1]
                break
        if self._traced is not None:
            self._traced.take(events)
        return self._text.take(events)

    def interrupt(self) -> Sequence[Event]:
        """Return the events of the text that was held back until now."""
        if self._done:
            return ()
        return [*self._text.take(self._valid.end()), *self._text.interrupt()]

    def end(self, call: Call) -> None:
        """Describe the answer in the measurement and the span of `call`.

        Raises:
            ProviderGarbledError: `Done` is missing.
        """
        if self._done is None:
            raise ProviderGarbledError("The provider's answer ended before it was complete.")
        usage = call.inference.usage = self._done.usage
        spans.annotate(partial(tracing.answer_attributes, call, usage))
        if self._traced is not None:
            self._traced.end()


def is_short(events: Sequence[Event]) -> bool:
    """Return whether the texts of events are read in a short time."""
    for event in events:  # noqa: SIM110 - a generator would cost each token more
        if type(event) is TextDelta and len(event.text) > _TURN:
            return False
    return True


def _parts(event: Event) -> Iterator[Event]:
    """Yield an event, its text in parts of which each is read in a short time."""
    if type(event) is not TextDelta or not event.text:
        yield event
        return
    for start in range(0, len(event.text), _TURN):
        yield msgspec.structs.replace(event, text=event.text[start : start + _TURN])
