"""The functions from which all scanners are built.

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


def until(source: Source, stop_strings: StopStrings) -> Scan[tuple[str, str | None]]:
    """Take text up to and with the first stop string; return both, or None at the end."""
    parts: list[str] = []
    matched = yield from through(source, stop_strings, parts.append)
    return "".join(parts), matched


def through(
    source: Source, stop_strings: StopStrings, receive: Callable[[str], None]
) -> Scan[str | None]:
    """Take text up to and with the first stop string, and pass on the text before it as it comes.

    Returns:
        The stop string; None at the end of the message.
    """
    while True:
        match = stop_strings.pattern.search(source.text, source.position)
        if match:
            receive(source.take(match.start()))
            source.position = match.end()
            return match.group()
        end = len(source.text)
        if not source.ended:
            end = stop_strings.held(source.text, source.position)
        receive(source.take(end))
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
