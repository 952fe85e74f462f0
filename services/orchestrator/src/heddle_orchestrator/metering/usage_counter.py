"""The counted and the recorded tokens of one assistant."""

from copy import copy
from dataclasses import dataclass, field

import msgspec
from heddle.assistant.v1.assistant_pb2 import Price


class Tokens(msgspec.Struct):
    """Token counts."""

    prompt: int = 0
    cached: int = 0
    """Part of `prompt`."""
    completion: int = 0

    def add(self, other: "Tokens") -> None:
        """Add `other`."""
        # Written out: a loop takes three times as long, and every answer is counted here.
        self.prompt += other.prompt
        self.cached += other.cached
        self.completion += other.completion

    def cost(self, price: Price) -> int:
        """Return their cost in millionths of a millionth of a US dollar."""
        return (
            (self.prompt - self.cached) * price.input_micros
            + self.cached * price.cached_input_micros
            + self.completion * price.output_micros
        )

    def minus(self, other: "Tokens") -> "Tokens":
        """Return the difference to `other`, at least 0 each."""
        return Tokens(
            max(0, self.prompt - other.prompt),
            max(0, self.cached - other.cached),
            max(0, self.completion - other.completion),
        )


@dataclass(slots=True)
class UsageCounter:
    """The tokens of an assistant since this process first counted them."""

    counted: Tokens = field(default_factory=Tokens)
    recorded: Tokens = field(default_factory=Tokens)
    """The part of `counted` that the usage service has recorded."""
    _previous: Tokens = field(default_factory=Tokens)
    """The value of `recorded` before its last change."""
    _recorded_at: float = 0.0

    def record(self, tokens: Tokens, now: float) -> None:
        """Add recorded tokens. This process learned at `now` that they are recorded."""
        self._previous, self._recorded_at = self.recorded, now
        self.recorded = copy(self.recorded)  # budgets hold the old sum
        self.recorded.add(tokens)

    def recorded_by(self, moment: float) -> Tokens:
        """Return the tokens that a response to a request sent at `moment` certainly contains."""
        return self.recorded if self._recorded_at < moment else self._previous
