"""Limits on the function calls of a run."""

from collections import Counter
from dataclasses import dataclass, field

from heddle.chat.v1 import chat_pb2
from heddle_runtime.errors import HeddleError

from heddle_orchestrator.tools.failures import is_recoverable
from heddle_orchestrator.tools.function_call import FunctionCall

_REPEATED_CALL = "This call was made before with the same arguments. Answer with what you know."
_HOPELESS_CALL = (
    "This call failed before with the same arguments, and would fail again. "
    "Change the arguments, or answer with what you know."
)
_MAX_EQUAL_CALLS = 2
_MAX_ERRORS = 10
_COUNTED = ("prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens")


@dataclass(slots=True)
class Budget:
    """The calls, time and tokens that a run has left."""

    rounds: int
    """The rounds of calls that are left."""
    seconds: float
    """The time for functions that is left."""
    tokens: int
    """The tokens of models that are left."""
    stopped: str = ""
    """Why the run must end, in a phrase for the user. Empty while it may continue."""
    _equal_calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    _errors: int = 0
    _hopeless: set[tuple[str, str]] = field(default_factory=set)
    """The keys of calls that failed and would fail again."""

    def refusal(self, call: FunctionCall) -> str:
        """Count a call. Return, in words for the model, why it does not run; empty if it does."""
        key = call.key
        self._equal_calls[key] += 1
        if (number := self._equal_calls[key]) > _MAX_EQUAL_CALLS:
            self.stopped = f"stopped: {call.name} was called {number} times with the same arguments"
            return _REPEATED_CALL
        return _HOPELESS_CALL if key in self._hopeless else ""

    def take_outcome(self, call: FunctionCall | None, failure: HeddleError | None) -> None:
        """Count the outcome of a call. None as its failure: it succeeded."""
        self._errors = self._errors + 1 if failure is not None else 0
        if call is not None and failure is not None and not is_recoverable(failure):
            self._hopeless.add(call.key)
        if self._errors >= _MAX_ERRORS:
            self.stopped = f"stopped: {_MAX_ERRORS} calls in a row failed"

    def take_round(self, seconds: float) -> None:
        """Count a round of calls."""
        self.rounds -= 1
        self.seconds -= seconds
        if self.rounds <= 0:
            self._stop("stopped: no more rounds of calls are left")
        elif self.seconds <= 0:
            self._stop("stopped: the time for functions is used up")

    def take_tokens(self, usage: chat_pb2.Usage) -> None:
        """Count the tokens of an answer."""
        self.tokens -= usage.prompt_tokens + usage.completion_tokens
        if self.tokens <= 0:
            self._stop("stopped: the tokens of the run are used up")

    def _stop(self, reason: str) -> None:
        self.stopped = self.stopped or reason


def add_usage(total: chat_pb2.Usage, usage: chat_pb2.Usage, *, sign: int = 1) -> None:
    """Add a usage to a total, or subtract it with the sign -1."""
    for name in _COUNTED:
        setattr(total, name, getattr(total, name) + sign * getattr(usage, name))
