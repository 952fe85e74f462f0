"""Tokens of one assistant, and how many of them the usage service has been told of."""

from copy import copy
from dataclasses import dataclass, field

import msgspec


class Tokens(msgspec.Struct):
    """What answers took."""

    prompt: int = 0
    cached: int = 0
    """Part of `prompt`."""
    completion: int = 0

    def add(self, other: "Tokens") -> None:
        """Count `other` in."""
        # Written out: every answer comes this way, and a loop takes three times as long.
        self.prompt += other.prompt
        self.cached += other.cached
        self.completion += other.completion

    def minus(self, other: "Tokens") -> "Tokens":
        """Return what is more than `other`."""
        return Tokens(
            max(0, self.prompt - other.prompt),
            max(0, self.cached - other.cached),
            max(0, self.completion - other.completion),
        )


@dataclass(slots=True)
class Tally:
    """Everything since this process counts for the assistant."""

    seen: Tokens = field(default_factory=Tokens)
    told: Tokens = field(default_factory=Tokens)
    """What of it is recorded."""
    _before: Tokens = field(default_factory=Tokens)
    """What was recorded before the last time that something was."""
    _told_at: float = 0.0

    def tell(self, tokens: Tokens, now: float) -> None:
        """Take note that tokens are recorded, which this process knows since `now`."""
        self._before, self._told_at = self.told, now
        self.told = copy(self.told)  # who got the old sum compares with it
        self.told.add(tokens)

    def told_by(self, moment: float) -> Tokens:
        """Return what surely was recorded at a moment: an answer of that time tells of it."""
        return self.told if self._told_at < moment else self._before
