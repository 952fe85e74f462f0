"""Detects repetition in a run: the same call again, or results without anything new."""

import re
from collections.abc import Mapping
from typing import Any

from heddle_orchestrator.agent.state import State
from heddle_orchestrator.agent.word_matching import similarity, words

_MIN_SIMILARITY = 0.8
_MAX_STALE_RUNS = 2
_AMOUNTS = re.compile(r"(?:^|_)(?:limit|top_k|k|max|count|size|threshold)(?:_|$)")
"""Names of numbers that limit how much is returned."""


def repetition(state: State, tool: str, inputs: Mapping[str, Any]) -> str:
    """Return why a tool may not run with these inputs, in one sentence; empty if it may.

    A tool runs once with equivalent inputs, and a second time if the first run failed and may
    succeed later.
    """
    tries = 0
    for past in state.history:
        if past.tool != tool or not all(
            _same_value(name, inputs.get(name), past.inputs.get(name))
            for name in {*inputs, *past.inputs}
        ):
            continue
        tries += 1
        if past.failed and not past.recoverable:
            return f"{tool} failed with what amounts to the same inputs, and would fail again."
        if not past.failed or tries > 1:
            return f"{tool} was already run with what amounts to the same inputs."
    return ""


def standstill(state: State) -> str:
    """Return why no more tools run, in one phrase; empty if they may.

    The run ends after two successful tools in a row without a new object.
    """
    latest = [past for past in state.history if not past.failed][-_MAX_STALE_RUNS:]
    if len(latest) == _MAX_STALE_RUNS and not any(past.new_objects for past in latest):
        return f"stopped: the last {_MAX_STALE_RUNS} tools found nothing new"
    return ""


def _same_value(name: str, one: object, other: object) -> bool:
    """Return whether two values of an input are equivalent. A missing value equals an empty one."""
    if isinstance(one or other, (int, float)) and _AMOUNTS.search(name):
        return True
    if isinstance(one, str) and isinstance(other, str) and (" " in one or " " in other):
        return similarity(words(one), words(other)) >= _MIN_SIMILARITY
    return _normalized(one) == _normalized(other)


def _normalized(value: object) -> object:
    """Return a text as its words, and any empty value as None."""
    return words(value) if isinstance(value, str) and value.strip() else value or None
