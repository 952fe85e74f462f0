"""Encodes several answers to one request, which are its choices."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter

import msgspec
from heddle.orchestrator.v1.orchestrator_pb2 import RunEvent

from heddle_gateway.http.error_responses import ErrorResponse
from heddle_gateway.openai.chat.aggregation import Completion
from heddle_gateway.openai.chat.event_encoder import Encoder
from heddle_gateway.openai.chat.stream_encoder import StreamEncoder

_candidate = attrgetter("candidate")


class Candidates(Encoder):
    """Gives the events of each answer to an encoder of its own."""

    def __init__(self, choices: Sequence[StreamEncoder | Completion]) -> None:
        """Begin the answers; the first one also has what precedes them."""
        self._choices = choices
        self._first, *others = choices
        self.report = self._first.report
        for other in others:
            other.join(self._first)

    @property
    def finished(self) -> bool:
        """Whether all have ended."""
        return all(each.finished for each in self._choices)

    @property
    def tools_ran(self) -> bool:
        """Whether another attempt would run tools again."""
        return self._first.tools_ran

    def encode(self, events: Iterable[RunEvent]) -> bytes:
        """Return the frames of events that arrived together."""
        groups = groupby(events, _candidate)
        return b"".join(self._choices[number].encode(its) for number, its in groups)

    def end(self) -> bytes:
        """Return the frames that end a stream, with the tokens of all answers."""
        total, *others = (each.done.usage for each in self._choices if each.done is not None)
        for usage in others:
            for field, value in usage.ListFields():
                setattr(total, field.name, getattr(total, field.name) + value)
        return self._first.end()

    def body(self) -> bytes:
        """Return the answers as one completion."""
        whole = [each for each in self._choices if isinstance(each, Completion)]
        completion, *others = (each.completion() for each in whole)
        for other in others:
            completion["choices"] += other["choices"]
        return msgspec.json.encode(completion)

    def failure(self, error: ErrorResponse) -> bytes:
        """Return the frames that end a stream which failed."""
        return self._first.failure(error)
