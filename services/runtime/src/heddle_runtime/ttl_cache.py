"""Answers of other services, asked for once at a time and given again for a short while."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from heddle_runtime.errors import DeadlineError

KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")
_LATE = "What the request needs to know was not told in time."
MOST = 4096
"""The most answers that are kept, if nobody says otherwise."""


@dataclass(frozen=True, slots=True)
class _Answer(Generic[ValueT]):
    until: float
    task: asyncio.Task[ValueT]

    def is_good(self) -> bool:
        """Say whether it may be given again. A failure is not: the next request may succeed."""
        return time.monotonic() < self.until and (not self.task.done() or self.succeeded())

    def succeeded(self) -> bool:
        """Say whether it is here, and no failure."""
        task = self.task
        return task.done() and not task.cancelled() and task.exception() is None


class TTLCache(Generic[KeyT, ValueT]):
    """Remembers answers for some seconds; the oldest go if there are too many."""

    def __init__(self, seconds: float, most: int = MOST) -> None:
        self._seconds = seconds
        self._most = most
        self._answers: OrderedDict[KeyT, _Answer[ValueT]] = OrderedDict()

    def known(self, key: KeyT) -> ValueT | None:
        """Return the answer that is known under `key`, None if there is none."""
        answer = self._answers.get(key)
        if answer is None or time.monotonic() >= answer.until or not answer.succeeded():
            return None
        return answer.task.result()

    async def get(
        self,
        key: KeyT,
        ask: Callable[[], Coroutine[Any, Any, ValueT]],
        seconds: float | None = None,
    ) -> ValueT:
        """Return the answer that is known under `key`, or what `ask` returns.

        Who asks while another one does waits for the same answer, or the same failure. So `ask`
        must have a deadline of its own, not that of whoever happens to come first.

        Args:
            key: What the answer is remembered under.
            ask: Gets the answer.
            seconds: How long to wait. The answer may come later, for others.

        Raises:
            DeadlineError: It did not come in time.
        """
        answer = self._answers.get(key)
        if answer is None or not answer.is_good():
            # From now on, not from the answer on: the truth may change while that is under way.
            answer = _Answer(time.monotonic() + self._seconds, asyncio.create_task(ask()))
            answer.task.add_done_callback(_forgive)
            self._answers[key] = answer
            self._answers.move_to_end(key)
            if len(self._answers) > self._most:
                self._answers.popitem(last=False)
        if answer.task.done():
            return answer.task.result()
        # Others wait for the same answer, so it is not for one that goes away to cancel.
        if seconds is not None:
            await asyncio.wait([answer.task], timeout=seconds)
            if not answer.task.done():
                raise DeadlineError(_LATE)
        return await asyncio.shield(answer.task)


def _forgive(task: asyncio.Task[Any]) -> None:
    """Look at a failure that nobody may be waiting for any more."""
    if not task.cancelled():
        task.exception()
