"""The entry point: reads a model's text as it arrives, and separates content, reasoning, calls."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from heddle_connector.toolcalls.delimiters import delimiters_for
from heddle_connector.toolcalls.emitter import Emitter
from heddle_connector.toolcalls.events import (
    CallCutOff,
    ReadEvent,
)
from heddle_connector.toolcalls.functions import Functions
from heddle_connector.toolcalls.message_parser import MessageParser
from heddle_connector.toolcalls.source import Source

_WITH_REASONING = frozenset({"gpt_oss"})
"""Formats whose messages say whether they are reasoning."""
_REASONING = delimiters_for(_WITH_REASONING)


class ToolCallReader:
    """Separates calls, reasoning and content in a message that arrives in chunks.

    The events do not depend on the chunk boundaries, except for where texts are split. A call is
    emitted once, when it is complete. The cost is proportional to the length of the text, and no
    text raises an exception.
    """

    def __init__(
        self,
        functions: Sequence[Mapping[str, Any]] = (),
        *,
        reasoning_prefilled: bool = False,
        formats: Collection[str] | None = None,
        calls: bool = True,
    ) -> None:
        """Begin a message.

        Args:
            functions: The declared functions: OpenAI's function objects, or tool objects. They
                define the types of arguments, and distinguish undelimited calls from other JSON.
            reasoning_prefilled: Whether the prompt ends inside the model's reasoning.
            formats: Names of the formats that the model uses, as in
                `heddle_connector.toolcalls.formats`; None for all.
            calls: Whether to read calls. Otherwise only reasoning is separated, and calls are
                content; `functions` and `formats` do not matter.

        Raises:
            ValueError: There is no format of such a name.
        """
        if not calls:
            functions, formats = (), _WITH_REASONING
        delimiters = delimiters_for(None if formats is None else frozenset(formats))
        self._calls = calls
        self._is_plain = delimiters.is_plain
        self._held = delimiters.stop_strings.held
        self._source = Source()
        self._emitter = Emitter()
        self._parser = MessageParser(
            self._source, self._emitter, Functions(functions), delimiters, calls=calls
        )
        self._scan = self._parser.read(prefilled=reasoning_prefilled)
        next(self._scan)

    def passes(self, piece: str) -> bool:
        """Return whether a chunk is content as it is; it is read then.

        Saves most of the cost of `feed` for most chunks of an answer. A chunk for which this
        returns False is not read.
        """
        emitter = self._emitter
        if (
            not self._parser.in_content
            or not self._is_plain(piece)
            or self._held(piece, 0) < len(piece)
            or not emitter.is_unchanged(piece)
            or not self._source.pass_over(piece)
        ):
            return False
        emitter.at_line_start = emitter.after_call = False
        emitter.last = piece[-1]
        return True

    def feed(self, piece: str) -> list[ReadEvent]:
        """Return the events that a chunk of the message completes."""
        self._source.feed(piece)
        next(self._scan)
        return self._emitter.events()

    def finish(self) -> list[ReadEvent]:
        """End the message, and return the last events."""
        self._source.end()
        for _ in self._scan:
            pass
        self._emitter.finish()
        events = self._emitter.events()
        if self._emitter.cut_off and self._calls:
            events.append(CallCutOff(self._emitter.cut_off))
        return events


def is_plain(text: str) -> bool:
    """Return whether a whole message is content as it is, for a reader without calls."""
    return _REASONING.is_plain(text)
