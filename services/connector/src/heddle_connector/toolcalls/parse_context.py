"""An attempt to read a call where a mark or a bracket promises one."""

from collections.abc import Callable

from heddle_connector.toolcalls.events import CallRead
from heddle_connector.toolcalls.functions import Functions
from heddle_connector.toolcalls.source import Source


class Attempt:
    """What the readers of formats share: where to read, what is known, whom to tell."""

    __slots__ = (
        "_found",
        "_keeps",
        "committed",
        "count",
        "functions",
        "reasons",
        "source",
        "speaks",
    )

    def __init__(
        self,
        source: Source,
        functions: Functions,
        found: Callable[[CallRead], None],
        *,
        keeps: bool = True,
    ) -> None:
        self.source = source
        self.functions = functions
        self._found = found
        self._keeps = keeps
        self.count = 0
        """Calls found so far."""
        self.committed = False
        """Whether what was read is too much like a call to be prose."""

        self.reasons = False
        """Whether what follows is what the model says to itself."""
        self.speaks = False
        """Whether what follows is what the model says to the person, and holds no calls."""

    def found(self, call: CallRead) -> None:
        """Tell of a complete call. What was read of it will not be put back, if `keeps`."""
        self._found(call)
        self.count += 1
        self.passed()

    def passed(self) -> None:
        """Say that what was read until now is no text, if there were calls."""
        if self.count and self._keeps:
            self.source.keep()
