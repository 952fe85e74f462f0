"""Strings at which scanners stop, including those split by a chunk boundary."""

import re
from collections.abc import Iterable


class StopStrings:
    """Strings to stop at, none of which is a prefix of another."""

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
        """Return whether `text` is the beginning of one of the strings, and not a whole one."""
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
