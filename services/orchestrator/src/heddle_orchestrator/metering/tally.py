"""Tokens of one assistant, and how many of them the usage service has been told of."""

from dataclasses import dataclass
from typing import NamedTuple


class Tokens(NamedTuple):
    """What answers took."""

    prompt: int = 0
    cached: int = 0
    """Part of `prompt`."""
    completion: int = 0

    def plus(self, other: "Tokens") -> "Tokens":
        """Return both together."""
        return Tokens(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))

    def minus(self, other: "Tokens") -> "Tokens":
        """Return what is more than `other`."""
        return Tokens(*(max(0, mine - theirs) for mine, theirs in zip(self, other, strict=True)))


NONE = Tokens()


@dataclass(slots=True)
class Tally:
    """Everything since this process counts for the assistant."""

    seen: Tokens = NONE
    told: Tokens = NONE
    """What of it is recorded."""
    _before: Tokens = NONE
    """What was recorded before the last time that something was."""
    _told_at: float = 0.0

    def tell(self, tokens: Tokens, now: float) -> None:
        """Take note that tokens are recorded, which this process knows since `now`."""
        self._before, self._told_at = self.told, now
        self.told = self.told.plus(tokens)

    def told_by(self, moment: float) -> Tokens:
        """Return what surely was recorded at a moment: an answer of that time tells of it."""
        return self.told if self._told_at < moment else self._before
