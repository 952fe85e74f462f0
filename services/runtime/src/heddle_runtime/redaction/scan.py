"""Finds and replaces spans of text in linear time.

A rule has two steps. RE2 finds candidates with an automaton that reads each byte a limited number
of times, whatever the text. A function then decides on the few characters behind each candidate.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import re2

from heddle_runtime.redaction.decoding import decoded

REDACTED = "[redacted]"
MAX_CANDIDATES = 2_000
"""Candidates of all rules in one text; the rest of the text after them is replaced as a whole."""
_MIN_CHARACTERS = 5
_MAX_ENCODINGS = 3
"""The maximum number of encodings of a text: a URL in a URL, JSON in HTML."""
_MEMORY_BYTES = 32 * 1024 * 1024
"""The memory for the automaton of one pattern, which grows with the variety of the texts."""
_WRITTEN_ESCAPES = ("\\x1b", "\\x1B", "\\u001b", "\\u001B", "\\033", "\\e[")
_ESCAPE_SEQUENCE = re.compile(
    # A control sequence, a string such as a title or a link, or two characters. Not a sequence with
    # a space in it, such as the shape of the cursor: its end could be the beginning of a secret.
    r"\x1b(?:\[[0-?]{0,64}+[!-/]{0,8}+[@-~]|\][^\x07\x1b]{0,512}+(?:\x07|\x1b\\)|[@-Z\\^_])"
)
_BYTES = bytes.maketrans(b"\x85\xa0\xb2\xb3\xb9", b"\x81" * 5)
"""Replaces bytes within characters that Python would take for spaces and digits."""

Span = tuple[int, int]
Groups = tuple[Span, ...]
"""The spans of a match and of its groups; (-1, -1) for a group that did not take part."""


@dataclass(frozen=True, eq=False)
class Rule:
    """One way to find secrets."""

    pattern: str
    """The pattern of candidates, in RE2's syntax."""
    secret: Callable[[str, Groups], Span | None]
    """Returns the span of the secret at a candidate, or None. A character is one byte."""
    value: int = 0
    """The group that ends where the value begins. Another name may begin there: the search goes on
    at its end if the candidate is no secret. The end of the match, if the group took no part."""

    @cached_property
    def candidates(self) -> Any:  # noqa: ANN401 - RE2 has no types
        """The compiled pattern. Compiled on first use: most processes need few of them."""
        return compile_pattern(self.pattern)


@dataclass(frozen=True, eq=False)
class RuleSet:
    """Rules that are tried only if a text has a candidate for any of them, which is rare."""

    rules: tuple[Rule, ...]
    encoded: tuple[str, ...] = ()
    """Patterns that count as candidates: one search finds that nothing is encoded."""

    @cached_property
    def any(self) -> Any:  # noqa: ANN401 - as above
        """The compiled pattern of all candidates."""
        patterns = (*(each.pattern for each in self.rules), *self.encoded)
        return compile_pattern("|".join(patterns), groups=False)


def rule(
    pattern: str,
    secret: Callable[[str, Groups], Span | None],
    *,
    exact: bool = False,
    value: int = 0,
) -> Rule:
    """Return the rule for a pattern in RE2's syntax.

    Args:
        pattern: White space in it is ignored. It must not need to read far beyond its match.
        secret: As in `Rule`.
        exact: Whether upper and lower case differ.
        value: As in `Rule`.
    """
    pattern = f"(?{'-i' if exact else 'i'}:{''.join(pattern.split())})"
    return Rule(pattern, secret, value)


def compile_pattern(pattern: str, *, groups: bool = True) -> Any:  # noqa: ANN401 - RE2 has no types
    """Return a compiled pattern for bytes, with or without the groups in it."""
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = _MEMORY_BYTES
    options.never_capture = not groups
    options.log_errors = False
    return re2.compile(pattern.encode(), options)


def replace(text: str, rules: tuple[Rule, ...], rule_sets: tuple[RuleSet, ...] = ()) -> str:
    """Return `text` with each secret that a rule finds replaced by `[redacted]`.

    Args:
        text: The text.
        rules: Rules for the text as it stands.
        rule_sets: Rules for the text as it stands and for its decoded text.
    """
    if len(text) < _MIN_CHARACTERS or not (rules or rule_sets):
        return text
    plain = _without_escapes(text)
    data = plain.encode("utf-8", "surrogatepass")
    # A character for each byte, so that positions are the same for RE2 and for Python.
    characters = plain if len(data) == len(plain) else data.translate(_BYTES).decode("latin-1")
    everything = [(0, len(data))]
    possible = _possible(rule_sets, data, everything)
    spans = _spans(characters, data, (*rules, *possible), everything)
    if possible:
        end = spans[-1][0] if spans and spans[-1][1] == len(data) else len(data)
        spans += _encoded(data[:end], rule_sets, _MAX_ENCODINGS)
    if not spans:
        return text
    spans.sort()
    pieces: list[bytes] = []
    end = 0
    for first, last in spans:
        if first < end:  # overlaps the preceding span, or lies in it
            end = max(end, last)
            continue
        if first > end or not pieces:
            pieces += (data[end:first], REDACTED.encode())
        end = last
    pieces.append(data[end:])
    return b"".join(pieces).decode("utf-8", "surrogatepass")


def _encoded(data: bytes, rule_sets: Iterable[RuleSet], encodings: int) -> list[Span]:
    """Return the secrets in the decoded text, which may have been encoded several times."""
    view = decoded(data)
    if view is None or not encodings:
        return []
    regions = list(view.regions())
    text = view.data.translate(_BYTES).decode("latin-1")
    spans = _spans(text, view.data, _possible(rule_sets, view.data, regions), regions)
    if view.is_whole and len(spans) < MAX_CANDIDATES:
        spans += _encoded(view.data, rule_sets, encodings - 1)
    return [view.span(*span) for span in spans]


def _possible(rule_sets: Iterable[RuleSet], data: bytes, regions: list[Span]) -> list[Rule]:
    """Return the rules of the sets that have a candidate."""
    possible: list[Rule] = []
    for each in rule_sets:
        if any(each.any.search(data, *region) is not None for region in regions):
            possible += each.rules
    return possible


def _spans(text: str, data: bytes, rules: Iterable[Rule], regions: list[Span]) -> list[Span]:
    """Return the secrets in regions of a text, in the order of the rules."""
    spans: list[Span] = []
    limit, candidates = len(data), MAX_CANDIDATES
    for each, (first, last) in product(rules, regions):
        for start, span in _judged(each, text, data, first, min(last, limit)):
            if not candidates:
                limit = start
                break
            candidates -= 1
            if span is not None:
                spans.append(span)
    if limit < len(data):
        spans.append((limit, len(data)))
    return spans


def _judged(
    each: Rule, text: str, data: bytes, position: int, last: int
) -> Iterator[tuple[int, Span | None]]:
    """Yield where each candidate of a rule in a region begins, and the secret in it, if any."""
    numbers = range(1, each.candidates.groups + 1)
    while position < last and (match := each.candidates.search(data, position, last)) is not None:
        start, position = whole = match.span()
        span = each.secret(text, (whole, *map(match.span, numbers)))
        yield start, span
        if span is not None:
            position = max(position, span[1])
        elif match.span(each.value)[1] > start:
            position = match.span(each.value)[1]


def _without_escapes(text: str) -> str:
    """Return a text without the escape sequences of terminals, also where program text has them."""
    if "\\" in text:
        for written in _WRITTEN_ESCAPES:
            text = text.replace(written, "\x1b[" if written.endswith("[") else "\x1b")
    text = text.replace("\x9b", "\x1b[")
    return _ESCAPE_SEQUENCE.sub("", text) if "\x1b" in text else text
