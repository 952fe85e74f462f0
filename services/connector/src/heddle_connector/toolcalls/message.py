"""Goes through a message once: content and code, reasoning, and attempts to read calls."""

import re
from collections.abc import Callable
from functools import lru_cache

from heddle_connector.toolcalls import bare
from heddle_connector.toolcalls.attempt import Attempt
from heddle_connector.toolcalls.events import CallRead
from heddle_connector.toolcalls.functions import Functions
from heddle_connector.toolcalls.marks import Marks, strong
from heddle_connector.toolcalls.reasoning import FRAMED, REASONING
from heddle_connector.toolcalls.source import (
    Scan,
    Source,
    Stops,
    literal,
    peek,
    space,
    through,
    until,
    within,
)
from heddle_connector.toolcalls.voice import Voice

_SHORTEST_CUT = 5  # characters of a mark at the end that cannot be a coincidence
_TICKS = re.compile("`*+")
_INLINE = Stops(("`", "\n"))
_FENCE = 3
_BRACKETS = ("[", "{")
_SPAN = re.compile(r"`(?!`)[^`\n]*+(?:`(?!`)|\n)(?!\Z)")
_LONGEST_RUN = 256
_BLOCK_END = re.compile(r"\n {0,3}`{3,259}+(?!\Z)")  # _FENCE, and _LONGEST_RUN more
_SPOKEN = Stops(FRAMED)


def _code_end(text: str, at: int) -> int:
    """Return where code ends that begins at the index `at`, if that is easily seen, else 0.

    The same as what `Message._code` finds, for the usual kinds of code that have ended.
    """
    if span := _SPAN.match(text, at):
        return span.end()
    if at and text[at - 1] == "\n" and text.startswith("```", at) and text[at + 3 : at + 4] != "`":
        block = _BLOCK_END.search(text, at + _FENCE)
        return block.end() if block else 0
    return 0


@lru_cache(maxsize=128)
def _stops(strings: tuple[str, ...]) -> Stops:
    return Stops(strings)


@lru_cache(maxsize=_LONGEST_RUN)
def _fence_ends(run: str) -> Stops:
    return Stops(f"\n{' ' * indent}{run}" for indent in range(4))


class Message:
    """A message that is being read."""

    def __init__(self, source: Source, voice: Voice, functions: Functions, marks: Marks) -> None:
        self._source = source
        self._voice = voice
        self._functions = functions
        self._marks = marks
        self._initials = {name[:1] for name in functions.names} - {""}
        self._mentioned = False  # whether the beginning of reasoning was mentioned as text
        self.resting = False
        """Whether content is expected, and nothing of it was held back."""
        self.cut_off = ""
        """What was written of a call at the end."""

    def read(self, *, prefilled: bool) -> Scan[None]:
        """Read the message to its end."""
        if prefilled:
            yield from self._reasoning(tuple(self._marks.ends), skip="<think>")
        yield from self._opening()
        yield from self._content()

    def _opening(self) -> Scan[None]:
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

    def _content(self) -> Scan[None]:
        source = self._source
        voice = self._voice
        search = self._marks.pattern.search
        at = source.position
        while True:
            match = search(source.text, at)
            end = len(source.text)
            if match is None or match.group() in _BRACKETS:  # those may be a part of a mark
                end = self._marks.stops.held(source.text, at)
            rest = len(source.text) - end
            if match is None or end < match.start() or (source.ended and rest >= _SHORTEST_CUT):
                voice.say(source.take(end))
                if source.ended:
                    self._end()
                    return
                self.resting = end == len(source.text) and voice.free
                yield
                self.resting = False
                at = source.position
                continue
            found = match.group()
            at = match.start()
            if end := self._harmless(found, at):
                at = end
                continue
            voice.say(source.take(at))
            scan = self._at(found)
            if scan is not None:
                yield from scan
            at = source.position

    def _harmless(self, found: str, at: int) -> int:
        """Return where what was found at the index `at` ends, if it is easily seen to be text."""
        if found == "`":
            return _code_end(self._source.text, at)
        end = at + len(found)
        may_follow = self._marks.outlooks.get(found)
        return 0 if may_follow is None or may_follow(self._source.text, end) else end

    def _at(self, found: str) -> Scan[None] | None:
        """Return how to read what a mark, a backquote or a bracket begins, if anything."""
        if found in self._marks.rows:
            return self._attempt(found)
        if found == "`":
            return self._code()
        if found in _BRACKETS:
            return self._bare(found)
        if found in REASONING:
            return self._begin_reasoning(found)
        self._source.take(self._source.position + len(found))
        if self._meaningless(found):
            self._voice.forget_space()
        else:
            self._voice.say(found)
        return None

    def _end(self) -> None:
        """Decide about a beginning of a mark at the end of the message."""
        rest = self._source.take(len(self._source.text))
        if len(rest) >= _SHORTEST_CUT and strong(rest):
            if self._marks.begins_call(rest):
                self.cut_off = rest
                return
            if self._voice.after_call or not self._marks.begins_closer(rest):
                return
        self._voice.say(rest)

    def _meaningless(self, mark: str) -> bool:
        if mark in self._marks.always:
            return True
        if mark in self._marks.ends and not self._mentioned:
            self._voice.rest()
            return True
        return self._voice.after_call

    def _code(self) -> Scan[None]:
        """Pass code on as it is: a fence to its end, inline code at most to the end of the line."""
        source = self._source
        voice = self._voice
        at_line = voice.blank
        run = yield from within(source, _TICKS, _LONGEST_RUN)
        voice.say(run)
        fenced = at_line and len(run) >= _FENCE
        stops = _fence_ends(run) if fenced else _INLINE
        while end := (yield from through(source, stops, voice.say)):
            ticks = "" if end == "\n" else (yield from within(source, _TICKS, _LONGEST_RUN))
            voice.say(end + ticks)
            if fenced or end == "\n" or len(ticks) + 1 == len(run):
                return

    def _bare(self, bracket: str) -> Scan[None]:
        """Read calls without a mark, or pass the bracket on."""
        source = self._source
        while self._marks.may_grow(source) and not source.ended:
            yield
        again = self._marks.pattern.match(source.text, source.position)
        if again is None or again.group() != bracket:  # it is the beginning of a mark, or nothing
            return
        if self._marks.may_grow(source) and len(source.text) - source.position >= _SHORTEST_CUT:
            return  # the end of the message cut a mark off
        read = yield from self._unmarked(bracket)
        if read is None:
            self._voice.say(source.take(source.position + 1))
            return
        source.keep()
        attempt = Attempt(source, self._functions, self._found)
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

    def _attempt(self, opener: str) -> Scan[None]:
        """Read what a mark promises, or pass the mark on."""
        source = self._source
        reached_end = False
        end = source.position + len(opener)
        for row in self._marks.rows[opener]:
            if not row.may_follow(source.text, end):
                continue
            source.keep()
            source.take(end)
            attempt = Attempt(source, self._functions, self._found)
            complete = yield from row.read(attempt)
            if complete or attempt.count:
                yield from self._after(attempt, complete=complete)
                return
            at_end = source.ended and source.position == len(source.text)
            reached_end = reached_end or at_end
            if attempt.committed and at_end:
                self.cut_off = source.kept()
                return
            if denied := source.put_back():
                self._voice.say(denied)
                return
            end = source.position + len(opener)
            if attempt.committed:
                self._voice.say(source.take(end))
                if stops := self._marks.broken_ends[opener]:
                    yield from self._broken(opener, stops)
                return
        if reached_end and strong(opener):
            self.cut_off = source.take(len(source.text))
        else:
            self._voice.say(source.take(end))

    def _after(self, attempt: Attempt, *, complete: bool) -> Scan[None]:
        """Go on after what a mark promised, and kept."""
        if attempt.count:
            self._after_calls(complete=complete)
        if attempt.reasons:
            yield from self._reasoning(FRAMED)
        if attempt.speaks:
            yield from self._speech()

    def _speech(self) -> Scan[None]:
        """Pass a message to the person on as it is."""
        yield from through(self._source, _SPOKEN, self._voice.say)

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

    def _found(self, call: CallRead) -> None:
        self._voice.call(call)

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

    def _begin_reasoning(self, mark: str) -> Scan[None]:
        source = self._source
        beside = self._voice.blank or not source.before().isspace()
        source.take(source.position + len(mark))
        if beside or "|" in mark or "[" in mark:
            yield from self._reasoning((REASONING[mark],))
            if not self._voice.said:
                yield from self._opening()
        else:
            self._mentioned = True
            self._voice.say(mark)

    def _reasoning(self, ends: tuple[str, ...], *, skip: str = "") -> Scan[None]:
        """Pass reasoning on, to its end.

        Calls inside of it count only if it has no end. So where one may begin, everything waits.
        """
        source = self._source
        voice = self._voice
        if not source.skip():
            yield from space(source)
        if skip:
            yield from literal(source, (skip,))
            yield from space(source)
        found: str | None = yield from peek(source)
        if not found or found not in "`[{" or not self._marks.bare:
            stops = self._marks.reasoning_stops(ends)
            found = yield from through(source, stops, voice.think)
            if found is None or found in ends:
                voice.rest()
                return
            source.position -= len(found)
        source.keep()
        _, found = yield from until(source, *self._ends(ends))
        if found is None:
            yield from self._endless()
        else:
            voice.think(source.kept().removesuffix(found))
        voice.rest()

    @staticmethod
    def _ends(ends: tuple[str, ...]) -> tuple[re.Pattern[str], int]:
        stops = _stops(ends)
        return stops.pattern, stops.longest

    def _endless(self) -> Scan[None]:
        """Read what was kept of reasoning without an end: it ends before the first call."""
        voice = self._voice
        voice.think(self._source.put_back())
        voice.thinking = True
        yield from self._opening()
        yield from self._content()
