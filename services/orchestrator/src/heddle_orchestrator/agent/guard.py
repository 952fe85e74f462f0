"""What keeps a run from going in circles: the same question again, or the same findings."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from heddle_orchestrator.agent.state import State
from heddle_orchestrator.agent.words import alike, words

_ALIKE = 0.8
_MOST_STALE = 2
_AMOUNTS = ("limit", "top_k", "max", "count", "size", "threshold")
"""Parts of names whose values say how much is wanted, not what."""


@dataclass(frozen=True, slots=True)
class RepeatGuard:
    """Looks at the history of one run."""

    state: State

    def refuses(self, tool: str, inputs: Mapping[str, Any]) -> str:
        """Return why a tool is not run with these inputs, in one sentence; empty if it may run.

        It may not if it ran with the same ones, or with a query of the same words. One that failed
        may be tried once more.
        """
        asked = list(_asked(inputs))
        tries = 0
        for past in self.state.history:
            if past.tool != tool or alike(asked, _asked(past.inputs)) < _ALIKE:
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


def _asked(inputs: Mapping[str, Any]) -> Iterator[str]:
    for name, value in inputs.items():
        if isinstance(value, str):
            yield from words(value)
        elif not any(amount in name for amount in _AMOUNTS):
            yield f"{name}={json.dumps(value, sort_keys=True)}"
