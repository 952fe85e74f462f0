"""When a model has called enough."""

from collections import Counter
from dataclasses import dataclass, field

from heddle.chat.v1 import chat_pb2

from heddle_orchestrator.call import Call

_MOST_ALIKE = 3
_MOST_ERRORS = 10


@dataclass(slots=True)
class Budget:
    """What a run may still spend on functions."""

    rounds: int
    """Of calls."""
    seconds: float
    """That its functions may take."""
    tokens: int
    """That its models may read and write."""
    stopped: str = ""
    """Why it is enough, in a phrase for the person who waits. Empty while it is not."""
    _alike: Counter[tuple[str, str]] = field(default_factory=Counter)
    _errors: int = 0

    def refuses(self, call: Call) -> bool:
        """Take a call into account; say whether it was made too often to be run again."""
        key = call.key
        self._alike[key] += 1
        if self._alike[key] < _MOST_ALIKE:
            return False
        self.stopped = (
            f"stopped: {call.name} was called {_MOST_ALIKE} times with the same arguments"
        )
        return True

    def take_outcome(self, *, failed: bool) -> None:
        """Take the end of a call into account."""
        self._errors = self._errors + 1 if failed else 0
        if self._errors >= _MOST_ERRORS:
            self.stopped = f"stopped: {_MOST_ERRORS} calls in a row failed"

    def take_round(self, seconds: float) -> None:
        """Take a round of calls into account."""
        self.rounds -= 1
        self.seconds -= seconds
        if self.rounds <= 0:
            self._stop("stopped: no more rounds of calls are left")
        elif self.seconds <= 0:
            self._stop("stopped: the time for functions is used up")

    def take_tokens(self, usage: chat_pb2.Usage) -> None:
        """Take a model's answer into account."""
        self.tokens -= usage.prompt_tokens + usage.completion_tokens
        if self.tokens <= 0:
            self._stop("stopped: the tokens of the run are used up")

    def _stop(self, why: str) -> None:
        self.stopped = self.stopped or why
