"""Goes through a message once: content and code, reasoning, and calls."""

import re
from functools import lru_cache

from heddle_connector.toolcalls.call_parser import Calls
from heddle_connector.toolcalls.delimiters import SHORTEST_CUT, Marks, strong
from heddle_connector.toolcalls.emitter import Voice
from heddle_connector.toolcalls.functions import Functions
from heddle_connector.toolcalls.markdown_code import code_end, pass_code
from heddle_connector.toolcalls.reasoning import FRAMED, REASONING
from heddle_connector.toolcalls.scanners import Scan, literal, peek, space, through, until
from heddle_connector.toolcalls.source import Source
from heddle_connector.toolcalls.stop_strings import Stops

_BRACKETS = ("[", "{")
_SPOKEN = Stops(FRAMED)


@lru_cache(maxsize=128)
def _stops(strings: tuple[str, ...]) -> Stops:
    return Stops(strings)


class Message:
    """A message that is being read."""

    def __init__(self, source: Source, voice: Voice, functions: Functions, marks: Marks) -> None:
        self._source = source
        self._voice = voice
        self._marks = marks
        self._mentioned = False  # whether the beginning of reasoning was mentioned as text
        self.resting = False
        """Whether content is expected, and nothing of it was held back."""
        self._calls = Calls(source, voice, functions, marks)

    @property
    def cut_off(self) -> str:
        """What was written of a call at the end."""
        return self._calls.cut_off

    def read(self, *, prefilled: bool) -> Scan[None]:
        """Read the message to its end."""
        if prefilled:
            yield from self._reasoning(tuple(self._marks.ends), skip="<think>")
        yield from self._calls.opening()
        yield from self._content()

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
            if match is None or end < match.start() or (source.ended and rest >= SHORTEST_CUT):
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
            wraps = self._marks.wrappers.get(found)
            if wraps and (wrapped := wraps(source.text, at + len(found))):
                source.position = at = wrapped.end()
                continue
            scan = self._at(found)
            if scan is not None:
                yield from scan
            at = source.position

    def _harmless(self, found: str, at: int) -> int:
        """Return where what was found at the index `at` ends, if it is easily seen to be text."""
        if found == "`":
            return code_end(self._source.text, at)
        end = at + len(found)
        may_follow = self._marks.outlooks.get(found)
        return 0 if may_follow is None or may_follow(self._source.text, end) else end

    def _at(self, found: str) -> Scan[None] | None:
        """Return how to read what a mark, a backquote or a bracket begins, if anything."""
        if found in self._marks.rows:
            return self._marked(found)
        if found == "`":
            return pass_code(self._source, self._voice)
        if found in _BRACKETS:
            return self._calls.bare(found)
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
        if len(rest) >= SHORTEST_CUT and strong(rest):
            if self._marks.begins_call(rest):
                self._calls.cut_off = rest
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

    def _marked(self, mark: str) -> Scan[None]:
        """Read what a mark promises, and what follows from it."""
        attempt = yield from self._calls.marked(mark)
        if attempt is not None and attempt.reasons:
            yield from self._reasoning(FRAMED)
        if attempt is not None and attempt.speaks:
            yield from through(self._source, _SPOKEN, self._voice.say)

    def _begin_reasoning(self, mark: str) -> Scan[None]:
        source = self._source
        beside = self._voice.blank or not source.before().isspace()
        source.take(source.position + len(mark))
        if beside or "|" in mark or "[" in mark:
            yield from self._reasoning((REASONING[mark],))
            if not self._voice.said:
                yield from self._calls.opening()
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
        yield from self._calls.opening()
        yield from self._content()
