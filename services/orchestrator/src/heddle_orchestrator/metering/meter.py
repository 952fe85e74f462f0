"""Counts usage in memory, and returns it in numbered batches."""

import time
import uuid
from collections.abc import Sequence

import structlog
from heddle.assistant.v1.assistant_pb2 import ModelRef
from heddle.usage.v1 import usage_pb2 as pb

from heddle_orchestrator.metering.usage_counter import Tokens, UsageCounter

log = structlog.get_logger(__name__)
MAX_KEYS = 10_000
"""Combinations of assistant and model, and assistants, that are counted in memory."""
MAX_BATCH = 1_000
MAX_SETTLED = 5_000
"""Reservations that end with one batch."""

Key = tuple[str, str, str]
"""An assistant's id, a connector, a model."""


class Meter:
    """The usage that this process counted. One batch is sent at a time.

    A repeated batch carries the same numbers, so the usage service ignores duplicates.
    """

    def __init__(self) -> None:
        self.recorder = uuid.uuid4().hex
        self._sums: dict[Key, pb.Counts] = {}
        self._batch: list[pb.UsageEntry] = []
        self._number = 0
        self._counters: dict[str, UsageCounter] = {}
        self._settled: list[str] = []
        self.settled_in_batch: list[str] = []
        """The reservations that end with the next batch."""
        self._lost = 0
        self._waiting_since: float | None = None
        self._batch_time = 0.0

    @property
    def lag(self) -> float:
        """The seconds for which the oldest usage has waited to be recorded."""
        since = self._waiting_since
        return 0.0 if since is None else time.monotonic() - since

    def add(self, key: Key, tokens: Tokens | None) -> None:
        """Count an answer. Its tokens are None if they are unknown."""
        total = self._sums.get(key)
        if total is None:
            if len(self._sums) >= MAX_KEYS:
                self._lose()
                return
            total = self._sums[key] = pb.Counts()
        total.requests += 1
        if self._waiting_since is None:
            self._waiting_since = time.monotonic()
        if tokens is None:
            total.usage_unknown += 1
            return
        total.prompt_tokens += tokens.prompt
        total.cached_tokens += tokens.cached
        total.completion_tokens += tokens.completion
        self.counter(key[0]).counted.add(tokens)

    def settle(self, reservation: str) -> None:
        """End a reservation, after the usage of its answer was added."""
        self._settled.append(reservation)

    def counter(self, assistant: str) -> UsageCounter:
        """Return the counter of an assistant."""
        counter = self._counters.get(assistant)
        if counter is None:
            if len(self._counters) >= MAX_KEYS:  # drop those without unrecorded tokens
                self._counters = {
                    name: each
                    for name, each in self._counters.items()
                    if each.counted != each.recorded
                }
            counter = self._counters[assistant] = UsageCounter()
        return counter

    def batch(self) -> Sequence[pb.UsageEntry]:
        """Return the next batch to record; empty if there is none, or only settled reservations."""
        if not self._batch:
            self._batch_time = time.monotonic()
            for key in list(self._sums)[:MAX_BATCH]:
                self._number += 1
                assistant, connector, model = key
                entry = pb.UsageEntry(
                    number=self._number,
                    assistant_id=assistant,
                    model=ModelRef(connector=connector, model=model),
                    counts=self._sums.pop(key),
                )
                self._batch.append(entry)
            if not self._sums and not self.settled_in_batch:  # all usage so far is in the batch
                self.settled_in_batch = self._settled[:MAX_SETTLED]
                del self._settled[:MAX_SETTLED]
        return self._batch

    def recorded(self) -> None:
        """Drop the batch: it is recorded."""
        now = time.monotonic()
        for entry in self._batch:
            counts = entry.counts
            tokens = Tokens(counts.prompt_tokens, counts.cached_tokens, counts.completion_tokens)
            self.counter(entry.assistant_id).record(tokens, now)
        self._batch = []
        self.settled_in_batch = []
        self._waiting_since = self._batch_time if self._sums else None

    def _lose(self) -> None:
        self._lost += 1
        if self._lost & (self._lost - 1) == 0:  # the 1st, 2nd, 4th, 8th time and so on
            log.error("usage lost: too many unrecorded counts", answers=self._lost)
