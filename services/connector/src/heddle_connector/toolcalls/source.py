"""Text that arrives in pieces, for scanners that do not care where it was cut.

Scanners are generators: they yield when they need more text, and go on when `feed` or `end` was
called. They take what they have seen, so that no character is looked at twice, and what is kept
between pieces stays as short as the longest mark.
"""

import re
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")
Scan = Generator[None, None, T]
"""A scanner that yields when it needs more text and returns what it found."""

_SPACE = re.compile(r"\s*+")
_SLACK = 4096  # characters that may be read again whatever the length of the message


class Source:
    """A window on the text: what is before `position` is taken, except the last character."""

    __slots__ = ("_again", "_before", "_from", "_kept", "_taken", "ended", "position", "text")

    def __init__(self) -> None:
        self.text = ""
        self.position = 0
        self.ended = False
        self._taken = 0  # characters that left the window
        self._again = 0  # characters that were put back
        self._kept: list[str] | None = None
        self._from = 0
        self._before = ""

    def feed(self, piece: str) -> None:
        """Append text."""
        start = max(self.position - 1, 0)  # a character stays for those who look behind
        if start:
            if self._kept is not None:
                self._kept.append(self.text[self._from : start])
                self._from = max(self._from - start, 0)
            self._taken += start
            self.position -= start
            self.text = self.text[start:] + piece
        else:
            self.text += piece

    def end(self) -> None:
        """Say that no more text will come."""
        self.ended = True

    def take(self, end: int) -> str:
        """Take the text up to the index `end` of the window."""
        text = self.text[self.position : end]
        self.position = end
        return text

    def before(self) -> str:
        """Return the character before the position, empty at the very beginning."""
        return self.text[self.position - 1] if self.position else ""

    def keep(self) -> None:
        """Remember what is taken from here on, until `kept` or `put_back`."""
        self._kept = []
        self._from = self.position
        self._before = self.before()

    def kept(self) -> str:
        """Return what was taken since `keep`, and remember no longer."""
        kept = self._kept
        self._kept = None
        if kept is None:
            return ""
        return "".join(kept) + self.text[self._from : self.position]

    def put_back(self) -> str:
        """Go back to where `keep` was called.

        Reading again is limited, so that no text costs more than a multiple of its length: past
        the limit, the text is returned instead of put back.
        """
        if not self._kept and self._kept is not None:  # all of it is in the window
            size = self.position - self._from
            self._again += size
            if self._again > self._taken + self.position + _SLACK:
                return self.kept()
            self._kept = None
            self.position -= size
            return ""
        before = self._before
        kept = self.kept()
        self._again += len(kept)
        if self._again > self._taken + self.position + _SLACK:
            return kept
        self._taken += self.position - len(kept) - len(before)
        self.text = before + kept + self.text[self.position :]
        self.position = len(before)
        return ""

    def skip(self) -> bool:
        """Take white space; return whether something visible is next, so that there is no more."""
        match = _SPACE.match(self.text, self.position)
        if match:
            self.position = match.end()
        return self.position < len(self.text)

    def literal(self, options: Sequence[str]) -> str | None:
        """Take one of the strings, none of which begins another.

        Returns:
            The one that is next, None if none is, an empty string if more text must decide. At
            the end of the message the beginning of one is taken, and is none.
        """
        text, position = self.text, self.position
        rest = len(text) - position
        waits = False
        for option in options:
            if text.startswith(option, position):
                self.position = position + len(option)
                return option
            waits = waits or (rest < len(option) and option.startswith(text[position:]))
        if not waits:
            return None
        if not self.ended:
            return ""
        self.position = len(text)  # it was cut off
        return None

    def within(self, allowed: re.Pattern[str], most: int) -> str | None:
        """Take characters that match `allowed`, at most `most`; None if more text must decide."""
        match = allowed.match(self.text, self.position)
        end = match.end() if match else self.position
        if end == len(self.text) or end - self.position > most:
            return None
        return self.take(end)

    def passed(self, character: str) -> None:
        """Say what went by last, when all was taken and more went by without being fed."""
        self._taken += self.position
        self.text = character
        self.position = 1


class Stops:
    """Strings to stop at, none of which begins another."""

    __slots__ = ("_beginnings", "_first", "longest", "pattern")

    def __init__(self, strings: Iterable[str]) -> None:
        every = set(strings)
        self.pattern = re.compile(alternatives(every))
        """Matches each of them."""
        self.longest = max(map(len, every))
        """Characters of the longest."""
        self._beginnings = {text[:size] for text in every for size in range(1, len(text))}
        firsts = sorted({text[0] for text in every})
        self._first = re.compile("[" + "".join(map(re.escape, firsts)) + "]")

    def held(self, text: str, position: int) -> int:
        """Return the index from which the text may be the beginning of one of them."""
        at = max(position, len(text) - self.longest)
        while match := self._first.search(text, at):
            at = match.start()
            if text[at:] in self._beginnings:
                return at
            at += 1
        return len(text)

    def may_begin(self, text: str) -> bool:
        """Whether `text` is the beginning of one of them."""
        return text in self._beginnings


def alternatives(strings: Iterable[str]) -> str:
    """Return a pattern for any of the strings, which decides by few characters."""
    tree: dict[str, list[str]] = {}
    for text in strings:
        tree.setdefault(text[:1], []).append(text[1:])
    branches = []
    for first, rests in sorted(tree.items()):
        inner = rests[0] if len(rests) == 1 else ""
        if len(rests) > 1:
            inner = alternatives(rest for rest in rests if rest)
            inner = f"(?:{inner})" + ("?" if "" in rests else "")
        else:
            inner = re.escape(inner)
        branches.append(re.escape(first) + inner)
    return "|".join(branches)


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
    while (found := source.literal(options)) == "":
        yield
    return found


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


def through(source: Source, stops: Stops, tell: Callable[[str], None]) -> Scan[str | None]:
    """Take text up to and with the first of `stops`, and tell the text before it as it comes.

    Returns:
        The one that was found, None at the end of the message.
    """
    while True:
        match = stops.pattern.search(source.text, source.position)
        if match:
            tell(source.take(match.start()))
            source.position = match.end()
            return match.group()
        end = len(source.text)
        tell(source.take(end if source.ended else stops.held(source.text, source.position)))
        if source.ended:
            return None
        yield


def within(source: Source, allowed: re.Pattern[str], most: int) -> Scan[str]:
    """Take the characters that match `allowed`, at most `most` of them."""
    if (text := source.within(allowed, most)) is not None:
        return text
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
