"""The delimiters of formats, and the patterns that find them in a message."""

import re
from collections.abc import Iterable
from functools import lru_cache

from heddle_connector.toolcalls.formats import FORMATS, Format
from heddle_connector.toolcalls.reasoning import ENDS, MARKS, REASONING
from heddle_connector.toolcalls.source import Source
from heddle_connector.toolcalls.stop_strings import StopStrings
from heddle_connector.toolcalls.table_parser import TableParser

# Calls without a delimiter follow white space, the beginning of the message, or a delimiter. The
# text after the bracket must look like a call.
MIN_CUT_OFF_LENGTH = 5
"""A prefix of a delimiter of this length at the end of a message is no coincidence."""
TOOL_CODE = "```tool_code"
"""Begins a fence whose code is calls."""
STRUCK = "<s>"
"""Begins struck text in HTML, whose end looks like the end of a message."""
_CLOSES = re.compile(r"/|end|close|suffix|<\w+\|>", re.IGNORECASE)
_BRACKET = (
    r"(?<![^\s>\]｜|])(?:\{(?=\s{0,64}(?:\"|\Z))"
    r"|\[(?=\s{0,64}(?:\{\s{0,64}(?:\"|\Z)|[^\W\d][\w.\-]{0,64}(?:\(|\Z)|\Z)))"
)


class Delimiters:
    """The delimiters of some formats."""

    def __init__(self, formats: Iterable[Format]) -> None:
        self.parsers: dict[str, list[TableParser]] = {}
        """The parsers for each opener."""
        self.frames: set[str] = set(MARKS)
        """Delimiters that are text only where a sentence mentions them."""
        self.message_ends: set[str] = {*ENDS}
        """Delimiters that are text only where other text follows them."""
        self.around: set[str] = set()
        """Delimiters that are not text before or after a call."""
        self.closers: set[str] = set()
        """Delimiters that are not text after a call."""
        self.undelimited: set[str] = set()
        """Heads that begin with a placeholder."""
        seen = set()
        for format_ in formats:
            self.frames.update(format_.frames)
            self.around.update(format_.delimiters)
            self.closers.update(format_.closers)
            key = (
                format_.head,
                format_.tags,
                format_.ends,
                format_.trim,
                format_.decode,
            )
            if format_.head.startswith("{"):
                self.undelimited.add(format_.head)
            elif key not in seen:
                seen.add(key)
                parser = TableParser(format_)
                self.parsers.setdefault(parser.opener, []).append(parser)
        self.outlooks = {
            opener: re.compile("|".join(parser.outlook for parser in parsers)).match
            for opener, parsers in self.parsers.items()
        }
        """For each opener, matches text after it that can be a call."""
        self.wrappers = {
            parser.opener: parser.wraps
            for parsers in self.parsers.values()
            for parser in parsers
            if parser.wraps
        }
        """For openers that are delimiters only before a call of another format: finds that call."""
        self.broken_ends = {
            opener: _broken_ends(parsers) for opener, parsers in self.parsers.items()
        }
        """For each opener, what ends a malformed call; None if nothing does."""
        self.ends = {*REASONING.values()}
        """Delimiters that end reasoning."""
        every = {
            *(*self.parsers, *self.frames, *self.around, *self.closers),
            *(*REASONING, *self.ends, *self.message_ends, STRUCK),
        }
        if "{tool_code}" in self.undelimited:
            every.add(TOOL_CODE)
        self.stop_strings = StopStrings(every)
        """All delimiters."""
        brackets = f"|{_BRACKET}" if self.undelimited else ""
        self.pattern = re.compile(f"{self.stop_strings.pattern.pattern}|`{brackets}")
        """Matches delimiters, backquotes, and brackets that may begin calls."""
        self._signs = _signs(every | ({"[", "{"} if self.undelimited else set()))
        self._openings = _beginnings({*self.parsers, *filter(opens, self.around)})
        self._closings = _beginnings(
            self.closers | self.around | self.frames | self.ends | self.message_ends
        )
        self._strong = {delimiter for delimiter in self.parsers if strong(delimiter)}
        self._reasoning: dict[tuple[str, ...], StopStrings] = {}

    def reasoning_stops(self, ends: tuple[str, ...]) -> StopStrings:
        """Return the strings that stop reasoning: its ends and the openers of calls."""
        if ends not in self._reasoning:
            self._reasoning[ends] = StopStrings({*ends, *self._strong})
        return self._reasoning[ends]

    def may_grow(self, source: Source) -> bool:
        """Return whether the unread text is the beginning of a delimiter."""
        end = source.position + self.stop_strings.longest
        return self.stop_strings.may_begin(source.text[source.position : end])

    def is_plain(self, text: str) -> bool:
        """Return whether `text` is certain to contain no delimiter, backquote or bracket."""
        for sign in self._signs:  # noqa: SIM110 - a generator takes longer than the search itself
            if sign in text:
                return False
        return True

    def begins_call(self, text: str) -> bool:
        """Return whether `text` is a prefix of a delimiter before a call."""
        return text in self._openings

    def begins_closer(self, text: str) -> bool:
        """Return whether `text` is a prefix of a delimiter that may follow a call."""
        return text in self._closings


def _broken_ends(parsers: list[TableParser]) -> StopStrings | None:
    closers = {
        delimiter
        for parser in parsers
        for delimiter in (
            *parser.format.closers,
            *parser.format.delimiters,
            *parser.format.frames,
        )
    }
    return StopStrings({parsers[0].opener, *closers}) if closers else None


def _beginnings(delimiters: Iterable[str]) -> set[str]:
    return {delimiter[:size] for delimiter in delimiters for size in range(1, len(delimiter))}


def _signs(delimiters: Iterable[str]) -> tuple[str, ...]:
    """Return a few short strings of which each of the delimiters, and a backquote, contains one."""
    shared = ("<", "[", "{", "`")
    signs = {next((sign for sign in shared if sign in each), each) for each in delimiters}
    return tuple(sorted(signs | {"`"}))


def opens(delimiter: str) -> bool:
    """Return whether a delimiter opens a section of calls rather than closes one."""
    return not _CLOSES.search(delimiter)


def strong(delimiter: str) -> bool:
    """Return whether a delimiter contains a bracket, so that it does not occur in sentences."""
    return "<" in delimiter or "[" in delimiter


@lru_cache(maxsize=64)
def delimiters_for(names: frozenset[str] | None) -> Delimiters:
    """Return the delimiters of the named formats, of all formats for None.

    Raises:
        ValueError: There is no format of such a name.
    """
    if names is None:
        return Delimiters(FORMATS)
    known = sorted({format_.name for format_ in FORMATS})
    if unknown := sorted(names - set(known)):
        raise ValueError(
            f"There is no tool-call format {unknown[0]!r}; there are: {', '.join(known)}."
        )
    return Delimiters(format_ for format_ in FORMATS if format_.name in names)
