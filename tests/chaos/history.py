"""What clients did and saw, and the model that a history must fit."""

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

Outcome = Literal["answer", "error", "torn", "untyped"]
"""`torn`: the connection to the gateway broke, which only the end of the gateway may cause."""


@dataclass(frozen=True)
class Operation:
    """One request of a client."""

    kind: str
    outcome: Outcome
    started: float
    ended: float
    detail: str = ""
    """What was wrong with its end."""


@dataclass
class History:
    """The operations in the order of their ends, and the acknowledged writes."""

    operations: list[Operation] = field(default_factory=list)
    acknowledged: dict[str, str] = field(default_factory=dict)
    """The ids of assistants whose creation was acknowledged, with their names."""
    lost: list[str] = field(default_factory=list)
    """What was acknowledged and is not there at the end."""

    def record(self, kind: str, outcome: Outcome, started: float, detail: str = "") -> None:
        """Note that an operation has ended."""
        self.operations.append(Operation(kind, outcome, started, time.monotonic(), detail))

    def compare(self, present: dict[str, str]) -> None:
        """Compare the acknowledged writes with the assistants that are there, by id."""
        self.lost += [name for key, name in self.acknowledged.items() if present.get(key) != name]

    def ends(self, *outcomes: Outcome) -> list[str]:
        """Return the operations with some outcomes, as texts."""
        return [f"{it.kind}: {it.detail}" for it in self.operations if it.outcome in outcomes]

    def since(self, moment: float) -> list[Operation]:
        """Return the operations that began after `moment` and have ended."""
        return [it for it in self.operations if it.started > moment]

    def answered_since(self, moment: float) -> Counter[str]:
        """Count the answers by kind to operations that began after `moment`."""
        return Counter(it.kind for it in self.since(moment) if it.outcome == "answer")

    def longest(self) -> float:
        """Return the seconds of the longest operation."""
        return max((it.ended - it.started for it in self.operations), default=0)

    def p99(self, first: int) -> float:
        """Return the 99th percentile of the seconds of an operation, from the `first` one on."""
        seconds = sorted(it.ended - it.started for it in self.operations[first:])
        return seconds[int(len(seconds) * 0.99)]

    def counts(self) -> Counter[Outcome]:
        """Count the operations by their ends."""
        return Counter(it.outcome for it in self.operations)
