"""Counts in memory, and hands them over in numbered batches."""

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

import structlog
from heddle.assistant.v1.assistant_pb2 import ModelRef
from heddle.usage.v1 import usage_pb2 as pb

from heddle_orchestrator.metering.tally import Tally, Tokens

log = structlog.get_logger(__name__)
MOST = 10_000
"""Assistants and models that are counted at once; more only if nothing can be recorded for long."""
LARGEST_BATCH = 1_000

Key = tuple[str, str, str]
"""An assistant's id, a connector, a model."""


@dataclass(slots=True)
class _Sum:
    requests: int = 0
    unknown: int = 0
    tokens: Tokens = field(default_factory=Tokens)


class Meter:
    """What this process counted. One batch is under way at a time, and stays as it is until then.

    A batch that is sent again carries the same numbers, by which the usage service knows it.
    """

    def __init__(self) -> None:
        self.recorder = uuid.uuid4().hex
        self._sums: dict[Key, _Sum] = {}
        self._batch: list[pb.UsageEntry] = []
        self._number = 0
        self._tallies: dict[str, Tally] = {}
        self._lost = 0

    def add(self, key: Key, tokens: Tokens | None) -> None:
        """Count an answer, whose tokens are unknown if they are None."""
        found = self._sums.get(key)
        if found is None:
            if len(self._sums) >= MOST:
                self._lose()
                return
            found = self._sums[key] = _Sum()
        found.requests += 1
        if tokens is None:
            found.unknown += 1
            return
        found.tokens.add(tokens)
        self.tally(key[0]).seen.add(tokens)

    def tally(self, assistant: str) -> Tally:
        """Return what is counted for an assistant."""
        found = self._tallies.get(assistant)
        if found is None:
            if len(self._tallies) >= MOST:  # those of whom everything is recorded can go
                busy = {name: t for name, t in self._tallies.items() if t.seen != t.told}
                self._tallies = busy
            found = self._tallies[assistant] = Tally()
        return found

    def batch(self) -> Sequence[pb.UsageEntry]:
        """Return what is to be recorded next, nothing if nothing is left."""
        if not self._batch:
            for key in list(self._sums)[:LARGEST_BATCH]:
                self._number += 1
                self._batch.append(_entry(self._number, key, self._sums.pop(key)))
        return self._batch

    def recorded(self) -> None:
        """Let go of the batch: it is recorded."""
        now = time.monotonic()
        for entry in self._batch:
            counts = entry.counts
            tokens = Tokens(counts.prompt_tokens, counts.cached_tokens, counts.completion_tokens)
            self.tally(entry.assistant_id).tell(tokens, now)
        self._batch = []

    def _lose(self) -> None:
        self._lost += 1
        if self._lost & (self._lost - 1) == 0:  # the 1st, 2nd, 4th, 8th time and so on
            log.error("usage is lost: too much waits to be recorded", answers=self._lost)


def _entry(number: int, key: Key, counted: _Sum) -> pb.UsageEntry:
    assistant, connector, model = key
    return pb.UsageEntry(
        number=number,
        assistant_id=assistant,
        model=ModelRef(connector=connector, model=model),
        counts=pb.Counts(
            requests=counted.requests,
            usage_unknown=counted.unknown,
            prompt_tokens=counted.tokens.prompt,
            cached_tokens=counted.tokens.cached,
            completion_tokens=counted.tokens.completion,
        ),
    )
