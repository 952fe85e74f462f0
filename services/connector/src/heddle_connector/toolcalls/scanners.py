"""What all scanners are made of.

Scanners are generators: they yield when they need more text, and go on when `Source.feed` or
`Source.end` was called. They take what they have seen, so that no character is looked at twice,
and the text between chunks stays as short as the longest delimiter.
"""

import re
from collections.abc import Callable, Generator, Sequence
from typing import TypeVar

from heddle_connector.toolcalls.source import Source
from heddle_connector.toolcalls.stop_strings import StopStrings

T = TypeVar("T")
Scan = Generator[None, None, T]
"""A scanner that yields when it needs more text and returns what it found."""


def space(source: Source) -> Scan[None]:
    """Take white space."""
    while not source.skip() and not source.ended:
        yield


def blank(source: Source) -> Scan[str]:
    """Take white space and return it."""
    parts = []
    while True:
        start = source.position
        visible = source.skip()
        parts.append(source.text[start : source.position])
        if visible or source.ended:
            return "".join(parts)
        yield


def literal(source: Source, options: Sequence[str]) -> Scan[str | None]:
    """Take one of the strings, none of which begins another; None if none of them is next."""
    while (matched := source.literal(options)) == "":
        yield
    return matched


def until(source: Source, stop: re.Pattern[str], longest: int) -> Scan[tuple[str, str | None]]:
    """Take text up to and with the next match of `stop`; return both, or None at the end.

    Args:
        source: Where the text comes from.
        stop: Matches strings that are decided by their own characters, none beginning another.
        longest: Characters of the longest match.
    """
    parts = []
    while True:
        match = stop.search(source.text, source.position)
        if match:
            parts.append(source.take(match.start()))
            source.position = match.end()
            return "".join(parts), match.group()
        end = len(source.text)
        parts.append(source.take(end if source.ended else max(end - longest + 1, source.position)))
        if source.ended:
            return "".join(parts), None
        yield


def through(
    source: Source, stop_strings: StopStrings, tell: Callable[[str], None]
) -> Scan[str | None]:
    """Take text up to and with the first of `stops`, and tell the text before it as it comes.

    Returns:
        The one that was found, None at the end of the message.
    """
    while True:
        match = stop_strings.pattern.search(source.text, source.position)
        if match:
            tell(source.take(match.start()))
            source.position = match.end()
            return match.group()
        end = len(source.text)
        tell(source.take(end if source.ended else stop_strings.held(source.text, source.position)))
        if source.ended:
            return None
        yield


def within(source: Source, allowed: re.Pattern[str], most: int) -> Scan[str]:
    """Take the characters that match `allowed`, at most `most` of them."""
    parts: list[str] = []
    room = most
    while True:
        match = allowed.match(source.text, source.position)
        end = min(match.end() if match else source.position, source.position + room)
        parts.append(source.take(end))
        room -= len(parts[-1])
        if end < len(source.text) or not room or source.ended:
            return "".join(parts)
        yield


def peek(source: Source) -> Scan[str]:
    """Return the next character without taking it, empty at the end."""
    while source.position == len(source.text) and not source.ended:
        yield
    return source.text[source.position : source.position + 1]
