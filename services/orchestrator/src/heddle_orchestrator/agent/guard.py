"""What keeps a run from going in circles: the same question again, or the same findings."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heddle_orchestrator.agent.state import State
from heddle_orchestrator.agent.words import alike, words

_ALIKE = 0.8
_MOST_STALE = 2
_AMOUNTS = re.compile(r"(?:^|_)(?:limit|top_k|k|max|count|size|threshold)(?:_|$)")
"""Names of numbers that say how much is wanted, not what."""


@dataclass(frozen=True, slots=True)
class RepeatGuard:
    """Looks at the history of one run."""

    state: State

    def refuses(self, tool: str, inputs: Mapping[str, Any]) -> str:
        """Return why a tool is not run with these inputs, in one sentence; empty if it may run.

        It may not if it ran with the same ones, or with a query of much the same words. One that
        failed may be tried once more.
        """
        tries = 0
        for past in self.state.history:
            if past.tool != tool or not _same(inputs, past.inputs):
                continue
            tries += 1
            if not past.failed or tries > 1:
                return f"{tool} was already run with what amounts to the same inputs."
        return ""

    def stuck(self) -> str:
        """Return why no more tools are run, in one phrase; empty if they are.

        They are not after two runs in a row that found nothing new.
        """
        ran = [past for past in self.state.history if not past.failed]
        latest = ran[-_MOST_STALE:]
        if len(latest) == _MOST_STALE and not any(past.new_objects for past in latest):
            return f"stopped: the last {_MOST_STALE} tools found nothing new"
        return ""


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(_agree(name, one.get(name), other.get(name)) for name in {*one, *other})


def _agree(name: str, one: object, other: object) -> bool:
    """Return whether two values of an input amount to the same. What is left out is empty."""
    if isinstance(one or other, (int, float)) and _AMOUNTS.search(name):
        return True
    if isinstance(one, str) and isinstance(other, str) and (" " in one or " " in other):
        return alike(words(one), words(other)) >= _ALIKE
    return _plain(one) == _plain(other)


def _plain(value: object) -> object:
    """Return an identifier as words, and nothing in one form."""
    return words(value) if isinstance(value, str) and value.strip() else value or None
