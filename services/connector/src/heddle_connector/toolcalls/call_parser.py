"""Reads calls after a delimiter or a bracket in a message, or passes the text on."""

from collections.abc import Callable

from heddle_connector.toolcalls import undelimited
from heddle_connector.toolcalls.delimiters import MIN_CUT_OFF_LENGTH, Delimiters, strong
from heddle_connector.toolcalls.emitter import Emitter
from heddle_connector.toolcalls.functions import Functions
from heddle_connector.toolcalls.parse_context import ParseContext
from heddle_connector.toolcalls.scanners import Scan, peek, space, through
from heddle_connector.toolcalls.source import Source
from heddle_connector.toolcalls.stop_strings import StopStrings


class CallParser:
    """Reads the calls of one message."""

    def __init__(
        self,
        source: Source,
        emitter: Emitter,
        functions: Functions,
        delimiters: Delimiters,
        *,
        calls: bool,
    ) -> None:
        self._source = source
        self._emitter = emitter
        self._functions = functions
        self._delimiters = delimiters
        self._reads_calls = calls
        self._initials = {name[:1] for name in functions.names} - {""}

    def opening(self) -> Scan[None]:
        """Read calls that are the whole message, or the beginning of it."""
        source = self._source
        if source.text.startswith("<", source.position):
            return
        source.checkpoint()
        yield from space(source)
        first = yield from peek(source)
        if first == "`" and "{calls}" in self._delimiters.undelimited:
            calls = yield from undelimited.fenced_calls(source, self._functions)
            for call in calls:
                self._emitter.emit_call(call)
            if calls:
                source.checkpoint()
        elif self._may_name(first) and "{name}{arguments}" in self._delimiters.undelimited:
            yield from undelimited.named_object(
                ParseContext(source, self._functions, self._emitter.emit_call)
            )
        if not self._cut_off(source.since_checkpoint()):
            self._emitter.emit_content(source.backtrack())

    def fenced(self, opener: str) -> Scan[bool]:
        """Read the calls of a fence; return whether there are any, or the message ends in one."""
        source = self._source
        source.checkpoint()
        source.position += len(opener)
        calls, code = yield from undelimited.tool_code(source, self._functions)
        for call in calls:
            self._emitter.emit_call(call)
        if calls:
            source.text_since_checkpoint()
        elif source.at_end() and undelimited.begins_tool_code(code, self._functions):
            self._emitter.emit_cut_off(source.text_since_checkpoint())
        else:
            text = source.backtrack()
            self._emitter.emit_content(text)
            return bool(text)
        return True

    def _cut_off(self, text: str) -> bool:
        """Emit the text of calls without a delimiter if the message ends inside of them."""
        if not (self._source.at_end() and undelimited.calls_known(text, self._functions)):
            return False
        self._emitter.emit_cut_off(self._source.text_since_checkpoint())
        return True

    def _may_name(self, first: str) -> bool:
        """Return whether a function's name may begin with this character."""
        return first in self._initials if self._functions else first.isalpha()

    def undelimited(self, bracket: str) -> Scan[None]:
        """Read calls without a delimiter, or emit the bracket as text."""
        source = self._source
        while self._delimiters.may_grow(source) and not source.ended:
            yield
        again = self._delimiters.pattern.match(source.text, source.position)
        if again is None or again.group() != bracket:  # it begins a delimiter, or nothing
            return
        if (
            self._delimiters.may_grow(source)
            and len(source.text) - source.position >= MIN_CUT_OFF_LENGTH
        ):
            return  # the end of the message cuts a delimiter off
        read = yield from self._unmarked(bracket)
        if read is None:
            self._emitter.emit_content(source.take(source.position + 1))
            return
        source.checkpoint()
        context = ParseContext(source, self._functions, self._emitter.emit_call)
        complete = yield from read(context)
        if context.count:
            self._after_calls(complete=complete)
            return
        if self._cut_off(source.since_checkpoint()):
            return
        text = source.backtrack()
        self._emitter.emit_content(text or source.take(source.position + 1))

    def _unmarked(self, bracket: str) -> Scan[Callable[[ParseContext], Scan[bool]] | None]:
        """Return the parser for calls without a delimiter, if such calls seem to follow."""
        heads = self._delimiters.undelimited
        if "{calls}" in heads and (yield from undelimited.json_begins(self._source)):
            return undelimited.json_calls
        if "{python}" in heads and bracket == "[" and self._emitter.at_line_start:
            first = not self._emitter.has_content
            if (yield from undelimited.python_begins(self._source, self._functions, first=first)):
                return undelimited.python_calls
        return None

    def delimited(self, opener: str) -> Scan[ParseContext | None]:
        """Read calls after a delimiter, or emit the delimiter as text.

        Returns:
            The state after the calls; None if there are none.
        """
        source = self._source
        reached_end = False
        end = source.position + len(opener)
        for parser in self._delimiters.parsers[opener]:
            if not parser.may_follow(source.text, end):
                continue
            source.checkpoint()
            source.position = end
            context = ParseContext(source, self._functions, self._emitter.emit_call)
            context.reads_calls = self._reads_calls
            complete = yield from parser.read(context)
            if complete or context.count:
                self._after_reading(context, complete=complete)
                return context
            at_end = source.at_end()
            reached_end = reached_end or at_end
            if context.committed and at_end:
                self._emitter.emit_cut_off(source.text_since_checkpoint())
                return None
            if text := source.backtrack():
                self._emitter.emit_content(text)
                return None
            end = source.position + len(opener)
            if context.committed:
                self._emitter.emit_content(source.take(end))
                if stop_strings := self._delimiters.broken_ends[opener]:
                    yield from self._broken(opener, stop_strings)
                return None
        if reached_end and strong(opener):
            self._emitter.emit_cut_off(source.take(len(source.text)))
        else:
            self._emitter.emit_content(source.take(end))
        return None

    def _after_reading(self, context: ParseContext, *, complete: bool) -> None:
        if context.count:
            self._after_calls(complete=complete)
        elif context.is_wrapper:
            text = self._source.text_since_checkpoint()
            self._emitter.hold_delimiter(text, opens=True)

    def _after_calls(self, *, complete: bool) -> None:
        """Decide about the text after the last complete call."""
        source = self._source
        rest = source.text_since_checkpoint()
        if complete:
            closes = source.text.startswith("<", source.position)
            if not (closes and not rest.strip(" \r\n\t,;}]")):
                self._emitter.emit_content(rest)
        elif source.at_end() and rest.strip():
            self._emitter.emit_cut_off(rest)
        else:
            self._emitter.emit_content(rest)

    def _broken(self, opener: str, stop_strings: StopStrings) -> Scan[None]:
        """Emit a malformed call as text, without looking for calls inside of it.

        It ends with its closing delimiter, or before the same opening delimiter on a new line.
        """
        source = self._source
        while True:
            matched = yield from through(source, stop_strings, self._emitter.emit_content)
            if matched == opener and self._emitter.at_line_start:
                source.position -= len(matched)
                return
            self._emitter.emit_content(matched or "")
            if matched != opener:
                return
