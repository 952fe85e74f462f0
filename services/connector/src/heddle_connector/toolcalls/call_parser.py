"""Reads what a mark or a bracket in a message promises: calls, or nothing but text."""

from collections.abc import Callable

from heddle_connector.toolcalls import undelimited as bare
from heddle_connector.toolcalls.delimiters import SHORTEST_CUT, Marks, strong
from heddle_connector.toolcalls.emitter import Voice
from heddle_connector.toolcalls.functions import Functions
from heddle_connector.toolcalls.parse_context import Attempt
from heddle_connector.toolcalls.scanners import Scan, peek, space, through
from heddle_connector.toolcalls.source import Source
from heddle_connector.toolcalls.stop_strings import Stops


class Calls:
    """Reads the calls of one message."""

    def __init__(self, source: Source, voice: Voice, functions: Functions, marks: Marks) -> None:
        self._source = source
        self._voice = voice
        self._functions = functions
        self._marks = marks
        self._initials = {name[:1] for name in functions.names} - {""}
        self.cut_off = ""
        """What was written of a call at the end."""

    def opening(self) -> Scan[None]:
        """Read calls that have to be the whole message, or to begin it."""
        source = self._source
        if source.text.startswith("<", source.position):
            return
        source.keep()
        if not source.skip():
            yield from space(source)
        first = yield from peek(source)
        if first == "`" and "{calls}" in self._marks.bare:
            calls = yield from bare.fenced_calls(source, self._functions)
            for call in calls:
                self._voice.call(call)
            if calls:
                source.keep()
        elif self._may_name(first) and "{name}{arguments}" in self._marks.bare:
            yield from bare.named_object(Attempt(source, self._functions, self._voice.call))
        self._voice.say(source.put_back())

    def _may_name(self, first: str) -> bool:
        """Whether a message that begins with this character may begin with a function's name."""
        return first in self._initials if self._functions else first.isalpha()

    def bare(self, bracket: str) -> Scan[None]:
        """Read calls without a mark, or pass the bracket on."""
        source = self._source
        while self._marks.may_grow(source) and not source.ended:
            yield
        again = self._marks.pattern.match(source.text, source.position)
        if again is None or again.group() != bracket:  # it is the beginning of a mark, or nothing
            return
        if self._marks.may_grow(source) and len(source.text) - source.position >= SHORTEST_CUT:
            return  # the end of the message cut a mark off
        read = yield from self._unmarked(bracket)
        if read is None:
            self._voice.say(source.take(source.position + 1))
            return
        source.keep()
        attempt = Attempt(source, self._functions, self._voice.call)
        complete = yield from read(attempt)
        if attempt.count:
            self._after_calls(complete=complete)
            return
        denied = source.put_back()
        self._voice.say(denied or source.take(source.position + 1))

    def _unmarked(self, bracket: str) -> Scan[Callable[[Attempt], Scan[bool]] | None]:
        """Return how to read calls without a mark that seem to be next, if any do."""
        heads = self._marks.bare
        if "{calls}" in heads and (yield from bare.json_begins(self._source)):
            return bare.json_calls
        if "{python}" in heads and bracket == "[" and self._voice.blank:
            first = not self._voice.said
            if (yield from bare.python_begins(self._source, self._functions, first=first)):
                return bare.python_calls
        return None

    def marked(self, opener: str) -> Scan[Attempt | None]:
        """Read what a mark promises, or pass the mark on.

        Returns:
            What was read of it, None if the promise was not kept.
        """
        source = self._source
        reached_end = False
        end = source.position + len(opener)
        for row in self._marks.rows[opener]:
            if not row.may_follow(source.text, end):
                continue
            source.keep()
            source.position = end
            attempt = Attempt(source, self._functions, self._voice.call)
            complete = yield from row.read(attempt)
            if complete or attempt.count:
                if attempt.count:
                    self._after_calls(complete=complete)
                return attempt
            at_end = source.ended and source.position == len(source.text)
            reached_end = reached_end or at_end
            if attempt.committed and at_end:
                self.cut_off = source.kept()
                return None
            if denied := source.put_back():
                self._voice.say(denied)
                return None
            end = source.position + len(opener)
            if attempt.committed:
                self._voice.say(source.take(end))
                if stops := self._marks.broken_ends[opener]:
                    yield from self._broken(opener, stops)
                return None
        if reached_end and strong(opener):
            self.cut_off = source.take(len(source.text))
        else:
            self._voice.say(source.take(end))
        return None

    def _after_calls(self, *, complete: bool) -> None:
        """Decide about what was taken after the last complete call."""
        source = self._source
        rest = source.kept()
        if complete:
            closes = source.text.startswith("<", source.position)
            if not (closes and not rest.strip(" \r\n\t,;}]")):
                self._voice.say(rest)
        elif source.ended and source.position == len(source.text):
            self.cut_off = rest
        else:
            self._voice.say(rest)

    def _broken(self, opener: str, stops: Stops) -> Scan[None]:
        """Pass on what is too much like a call to look for calls inside of it.

        It ends with the mark that should have ended it, or before the same mark on a new line.
        """
        source = self._source
        while True:
            found = yield from through(source, stops, self._voice.say)
            if found == opener and self._voice.blank:
                source.position -= len(found)
                return
            self._voice.say(found or "")
            if found != opener:
                return
