"""What clients did and saw, and the model that a history must fit."""

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

Outcome = Literal["answer", "error", "untyped"]


@dataclass(frozen=True)
class Operation:
    """One request of a client."""

    kind: str
    outcome: Outcome
    started: float
    ended: float
    detail: str = ""
    """What was untyped about its end."""


@dataclass
class History:
    """The operations in the order of their ends, and the acknowledged writes."""

    operations: list[Operation] = field(default_factory=list)
    acknowledged: dict[str, str] = field(default_factory=dict)
    """The ids of assistants whose creation was acknowledged, with their names."""
    lost: list[str] = field(default_factory=list)
    """The names of those that are not there at the end."""

    def record(self, kind: str, outcome: Outcome, started: float, detail: str = "") -> None:
        """Note that an operation has ended."""
        self.operations.append(Operation(kind, outcome, started, time.monotonic(), detail))

    def compare(self, present: dict[str, str]) -> None:
        """Compare the acknowledged writes with the assistants that are there, by id."""
        self.lost = [name for key, name in self.acknowledged.items() if present.get(key) != name]

    def untyped(self) -> list[str]:
        """Return the ends that were neither an answer nor a typed error."""
        return [f"{it.kind}: {it.detail}" for it in self.operations if it.outcome == "untyped"]

    def answered_since(self, moment: float) -> Counter[str]:
        """Count the answers by kind to operations that began after `moment`."""
        return Counter(
            it.kind for it in self.operations if it.outcome == "answer" and it.started > moment
        )

    def longest(self, kinds: Iterable[str]) -> float:
        """Return the seconds of the longest operation of some kinds."""
        chosen = set(kinds)
        return max(
            (it.ended - it.started for it in self.operations if it.kind in chosen), default=0
        )

    def counts(self) -> Counter[Outcome]:
        """Count the operations by their ends."""
        return Counter(it.outcome for it in self.operations)
