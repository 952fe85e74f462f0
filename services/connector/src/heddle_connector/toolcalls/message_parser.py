"""Parses a message in one pass: content and code, reasoning, and calls."""

from functools import lru_cache

from heddle_connector.toolcalls.call_parser import CallParser
from heddle_connector.toolcalls.delimiters import MIN_CUT_OFF_LENGTH, Delimiters, strong
from heddle_connector.toolcalls.emitter import Emitter
from heddle_connector.toolcalls.functions import Functions
from heddle_connector.toolcalls.markdown_code import code_end, pass_code
from heddle_connector.toolcalls.reasoning import FRAMED, REASONING
from heddle_connector.toolcalls.scanners import Scan, literal, peek, space, through, until
from heddle_connector.toolcalls.source import Source
from heddle_connector.toolcalls.stop_strings import StopStrings

_BRACKETS = ("[", "{")
_SPOKEN = StopStrings(FRAMED)


@lru_cache(maxsize=128)
def _stop_strings(strings: tuple[str, ...]) -> StopStrings:
    return StopStrings(strings)


class MessageParser:
    """Parses one message."""

    def __init__(
        self, source: Source, emitter: Emitter, functions: Functions, delimiters: Delimiters
    ) -> None:
        self._source = source
        self._emitter = emitter
        self._delimiters = delimiters
        self._mentioned = False  # whether text mentions an opening delimiter of reasoning
        self._calls = CallParser(source, emitter, functions, delimiters)

    @property
    def cut_off(self) -> str:
        """The text of a call that the end of the message cuts off."""
        return self._calls.cut_off

    def read(self, *, prefilled: bool) -> Scan[None]:
        """Read the message to its end."""
        if prefilled:
            yield from self._reasoning(tuple(self._delimiters.ends), skip="<think>")
        yield from self._calls.opening()
        yield from self._content()

    def _content(self) -> Scan[None]:
        source = self._source
        emitter = self._emitter
        search = self._delimiters.pattern.search
        at = source.position
        while True:
            match = search(source.text, at)
            end = len(source.text)
            if match is None or match.group() in _BRACKETS:  # a bracket may be part of a delimiter
                end = self._delimiters.stop_strings.held(source.text, at)
            rest = len(source.text) - end
            if (
                match is None
                or end < match.start()
                or (source.ended and rest >= MIN_CUT_OFF_LENGTH)
            ):
                emitter.emit_content(source.take(end))
                if source.ended:
                    self._end()
                    return
                yield
                at = source.position
                continue
            matched = match.group()
            at = match.start()
            if end := self._harmless(matched, at):
                at = end
                continue
            emitter.emit_content(source.take(at))
            wraps = self._delimiters.wrappers.get(matched)
            if wraps and (wrapped := wraps(source.text, at + len(matched))):
                source.position = at = wrapped.end()
                continue
            scan = self._at(matched)
            if scan is not None:
                yield from scan
            at = source.position

    def _harmless(self, matched: str, at: int) -> int:
        """Return the end of a match at the index `at` that is certainly text, else 0."""
        if matched == "`":
            return code_end(self._source.text, at)
        end = at + len(matched)
        may_follow = self._delimiters.outlooks.get(matched)
        return 0 if may_follow is None or may_follow(self._source.text, end) else end

    def _at(self, matched: str) -> Scan[None] | None:
        """Return the parser for what a delimiter, a backquote or a bracket begins, if anything."""
        if matched in self._delimiters.parsers:
            return self._delimited(matched)
        if matched == "`":
            return pass_code(self._source, self._emitter)
        if matched in _BRACKETS:
            return self._calls.undelimited(matched)
        if matched in REASONING:
            return self._begin_reasoning(matched)
        self._source.take(self._source.position + len(matched))
        if self._meaningless(matched):
            self._emitter.drop_whitespace()
        else:
            self._emitter.emit_content(matched)
        return None

    def _end(self) -> None:
        """Decide about a prefix of a delimiter at the end of the message."""
        rest = self._source.take(len(self._source.text))
        if len(rest) >= MIN_CUT_OFF_LENGTH and strong(rest):
            if self._delimiters.begins_call(rest):
                self._calls.cut_off = rest
                return
            if self._emitter.after_call or not self._delimiters.begins_closer(rest):
                return
        self._emitter.emit_content(rest)

    def _meaningless(self, delimiter: str) -> bool:
        if delimiter in self._delimiters.always:
            return True
        if delimiter in self._delimiters.ends and not self._mentioned:
            self._emitter.end_reasoning()
            return True
        return self._emitter.after_call

    def _delimited(self, delimiter: str) -> Scan[None]:
        """Read calls after a delimiter, and the reasoning or content after a message header."""
        context = yield from self._calls.delimited(delimiter)
        if context is not None and context.is_reasoning:
            yield from self._reasoning(FRAMED)
        if context is not None and context.is_content:
            yield from through(self._source, _SPOKEN, self._emitter.emit_content)

    def _begin_reasoning(self, delimiter: str) -> Scan[None]:
        source = self._source
        beside = self._emitter.at_line_start or not source.before().isspace()
        source.take(source.position + len(delimiter))
        if beside or "|" in delimiter or "[" in delimiter:
            yield from self._reasoning((REASONING[delimiter],))
            if not self._emitter.has_content:
                yield from self._calls.opening()
        else:
            self._mentioned = True
            self._emitter.emit_content(delimiter)

    def _reasoning(self, ends: tuple[str, ...], *, skip: str = "") -> Scan[None]:
        """Emit reasoning up to its end.

        Calls inside of reasoning count only if the reasoning has no end. So text from a possible
        call on is held back.
        """
        source = self._source
        emitter = self._emitter
        yield from space(source)
        if skip:
            yield from literal(source, (skip,))
            yield from space(source)
        matched: str | None = yield from peek(source)
        if not matched or matched not in "`[{" or not self._delimiters.undelimited:
            stop_strings = self._delimiters.reasoning_stops(ends)
            matched = yield from through(source, stop_strings, emitter.emit_reasoning)
            if matched is None or matched in ends:
                emitter.end_reasoning()
                return
            source.position -= len(matched)
        source.checkpoint()
        _, matched = yield from until(source, _stop_strings(ends))
        if matched is None:
            yield from self._endless()
        else:
            emitter.emit_reasoning(source.text_since_checkpoint().removesuffix(matched))
        emitter.end_reasoning()

    def _endless(self) -> Scan[None]:
        """Read reasoning without an end, which was held back: it ends before the first call."""
        emitter = self._emitter
        emitter.emit_reasoning(self._source.backtrack())
        emitter.as_reasoning = True
        yield from self._calls.opening()
        yield from self._content()
