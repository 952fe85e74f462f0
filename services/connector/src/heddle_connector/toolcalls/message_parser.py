"""Parses a message in one pass: content and code, reasoning, and calls."""

from functools import lru_cache

from heddle_connector.toolcalls.call_parser import CallParser
from heddle_connector.toolcalls.delimiters import (
    MIN_CUT_OFF_LENGTH,
    STRUCK,
    TOOL_CODE,
    Delimiters,
    opens,
    strong,
)
from heddle_connector.toolcalls.emitter import Emitter
from heddle_connector.toolcalls.functions import Functions
from heddle_connector.toolcalls.markdown_code import code_end, pass_code
from heddle_connector.toolcalls.reasoning import FRAMED, REASONING
from heddle_connector.toolcalls.scanners import Scan, peek, space, through, until
from heddle_connector.toolcalls.source import Source
from heddle_connector.toolcalls.stop_strings import StopStrings

_BRACKETS = ("[", "{")
_BEFORE_MENTIONS = frozenset(" \t\"'“\u2018«„([{\\/=")
_SENTENCE_ENDS = frozenset(".!?…)\u3002\uff01\uff1f")
_SPOKEN = StopStrings((*FRAMED, "<|call|>"))


@lru_cache(maxsize=128)
def _stop_strings(strings: tuple[str, ...]) -> StopStrings:
    return StopStrings(strings)


class MessageParser:
    """Parses one message."""

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
        self._delimiters = delimiters
        self._mentioned = False  # whether text mentions an opening delimiter of reasoning
        self._struck = False  # whether HTML's <s> is open
        self.in_content = False
        """Whether the next chunk continues content, outside code and delimiters."""
        self._calls = CallParser(source, emitter, functions, delimiters, calls=calls)

    def read(self, *, prefilled: bool) -> Scan[None]:
        """Read the message to its end."""
        if prefilled:
            yield from self._reasoning(tuple(self._delimiters.ends), "<think>")
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
                self.in_content = True
                yield
                self.in_content = False
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
                at = wrapped.end()
                emitter.hold_delimiter(source.take(at), opens=True)
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
            return self._code()
        if matched == TOOL_CODE:
            return self._tool_code()
        if matched in _BRACKETS:
            return self._calls.undelimited(matched)
        if matched in REASONING:
            return self._begin_reasoning(matched)
        self._pass_delimiter(matched)
        return None

    def _code(self) -> Scan[None]:
        while self._delimiters.may_grow(self._source) and not self._source.ended:
            yield
        again = self._delimiters.pattern.match(self._source.text, self._source.position)
        if again is None or again.group() == "`":
            yield from pass_code(self._source, self._emitter)

    def _tool_code(self) -> Scan[None]:
        if self._emitter.at_line_start and (yield from self._calls.fenced(TOOL_CODE)):
            return
        yield from pass_code(self._source, self._emitter)

    def _is_mentioned(self) -> bool:
        """Return whether a sentence or a quotation mentions the delimiter at the position.

        Models write delimiters on a new line, or directly after other text.
        """
        before = self._source.before()
        return not self._emitter.at_line_start and before in _BEFORE_MENTIONS

    def _end(self) -> None:
        """Decide about a prefix of a delimiter at the end of the message."""
        rest = self._source.take(len(self._source.text))
        is_delimiter = len(rest) >= MIN_CUT_OFF_LENGTH and strong(rest)
        if is_delimiter and self._emitter.after_call and self._delimiters.begins_closer(rest):
            return
        begins_call = is_delimiter and self._delimiters.begins_call(rest)
        if begins_call or (rest and self._emitter.holds_opener):
            self._emitter.emit_cut_off(rest)
        else:
            self._emitter.emit_content(rest)

    def _pass_delimiter(self, delimiter: str) -> None:
        """Drop a delimiter that begins neither calls nor reasoning, or emit it as text."""
        emitter = self._emitter
        mentioned = self._is_mentioned()
        self._source.take(self._source.position + len(delimiter))
        if delimiter in self._delimiters.message_ends and not emitter.after_call:
            struck, self._struck = self._struck, False
            ends_sentence = not emitter.last or emitter.last in _SENTENCE_ENDS
            if struck or (mentioned and not ends_sentence):
                emitter.emit_content(delimiter)
            else:
                emitter.hold_message_end(delimiter)
        elif delimiter == STRUCK:
            self._struck = True
            emitter.emit_content(delimiter)
        elif emitter.after_call:
            emitter.drop_whitespace()
        elif delimiter in self._delimiters.around:
            emitter.hold_delimiter(delimiter, opens=opens(delimiter))
        elif (
            mentioned
            or delimiter in self._delimiters.closers
            or (delimiter in self._delimiters.ends and self._mentioned)
        ):
            emitter.emit_content(delimiter)
        elif delimiter in self._delimiters.ends:
            emitter.end_reasoning()
        else:
            emitter.drop_whitespace()

    def _delimited(self, delimiter: str) -> Scan[None]:
        """Read calls after a delimiter, and the reasoning or content after a message header."""
        context = yield from self._calls.delimited(delimiter)
        if context is not None and context.is_reasoning:
            yield from self._reasoning(FRAMED)
        if context is not None and context.is_content:
            yield from through(self._source, _SPOKEN, self._emitter.emit_content)

    def _begin_reasoning(self, delimiter: str) -> Scan[None]:
        source = self._source
        mentioned = self._is_mentioned()
        source.take(source.position + len(delimiter))
        if mentioned:
            self._mentioned = True
            self._emitter.emit_content(delimiter)
            return
        yield from self._reasoning((REASONING[delimiter],), delimiter)
        if not self._emitter.has_content:
            yield from self._calls.opening()

    def _reasoning(self, ends: tuple[str, ...], opener: str = "") -> Scan[None]:
        """Emit reasoning up to its end.

        Calls inside of reasoning count only if the reasoning has no end. So text from a possible
        call on is held back. So is the text after the end of reasoning inside of reasoning: it is
        reasoning if there is a further end.
        """
        source = self._source
        emitter = self._emitter
        nested = 0
        while True:
            matched = yield from self._through_reasoning(ends, opener)
            if matched is None:
                break
            if matched and matched == opener:
                if emitter.in_reasoning:
                    before = source.text[: source.position - len(opener)][-1:]
                    nested += before not in _BEFORE_MENTIONS
                    emitter.emit_reasoning(opener)
                continue
            if matched in ends and not nested:
                break
            source.checkpoint()
            text, further = yield from until(source, _stop_strings(ends))
            if further is None:
                yield from self._endless(after=matched if matched in ends else "")
                break
            nested += text.count(opener) if opener else 0
            nested -= matched in ends
            text = source.text_since_checkpoint().removesuffix(further)
            emitter.emit_reasoning(matched + text if matched in ends else text)
            source.position -= len(further)
        emitter.end_reasoning()

    def _through_reasoning(self, ends: tuple[str, ...], opener: str) -> Scan[str | None]:
        """Emit reasoning up to what may end it; take and return that if it is a delimiter of it.

        Returns:
            One of `ends`, or `opener`; an empty string before a possible call; None at the end.
        """
        source = self._source
        if not self._emitter.in_reasoning:
            yield from space(source)
            first = yield from peek(source)
            if first and first in "`[{" and self._delimiters.undelimited:
                return ""
        stop_strings = self._delimiters.reasoning_stops((*ends, opener) if opener else ends)
        matched = yield from through(source, stop_strings, self._emitter.emit_reasoning)
        if matched is None or matched in ends or matched == opener:
            return matched
        source.position -= len(matched)
        return ""

    def _endless(self, *, after: str) -> Scan[None]:
        """Read text that was held back because a further end of reasoning could follow.

        Args:
            after: The end of the reasoning, before the text. Empty if the reasoning has no end:
                then it ends before the first call.
        """
        emitter = self._emitter
        if after:
            emitter.end_reasoning()
            emitter.emit_content(self._source.backtrack())
            return
        emitter.emit_reasoning(self._source.backtrack())
        emitter.as_reasoning = True
        yield from self._calls.opening()
        yield from self._content()
