"""The state of one attempt to parse calls after a delimiter or a bracket."""

from collections.abc import Callable

from heddle_connector.toolcalls.events import CallRead
from heddle_connector.toolcalls.functions import Functions
from heddle_connector.toolcalls.source import Source


class ParseContext:
    """The text, the declared functions, and the receiver of calls, for all parsers.

    Args:
        source: The text.
        functions: The declared functions.
        on_call: Receives each complete call.
        consumes: Whether the text of complete calls is consumed, so that backtracking stops there.
    """

    __slots__ = (
        "_consumes",
        "_on_call",
        "committed",
        "count",
        "functions",
        "is_content",
        "is_reasoning",
        "is_wrapper",
        "reads_calls",
        "source",
    )

    def __init__(
        self,
        source: Source,
        functions: Functions,
        on_call: Callable[[CallRead], None],
        *,
        consumes: bool = True,
    ) -> None:
        self.source = source
        self.functions = functions
        self._on_call = on_call
        self._consumes = consumes
        self.count = 0
        """The number of complete calls."""
        self.committed = False
        """Whether the text so far resembles a call too closely to be prose."""

        self.reads_calls = True
        """Whether calls are read. Otherwise their text is content."""
        self.is_reasoning = False
        """Whether the following text is reasoning."""
        self.is_wrapper = False
        """Whether the text so far is a delimiter before a call of another format."""
        self.is_content = False
        """Whether the following text is content for the user, without calls."""

    def emit(self, call: CallRead) -> None:
        """Pass on a complete call. With `consumes`, backtracking does not restore its text."""
        self._on_call(call)
        self.count += 1
        self.consume()

    def consume(self) -> None:
        """Consume the text so far, if it contains calls."""
        if self.count and self._consumes:
            self.source.checkpoint()
