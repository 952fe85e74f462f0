"""Tells passages that say the same, such as those of two versions of a file, from others."""

import re

_WORD = re.compile(r"[^\W_]+")
_FEW = 20
"""Different words of a passage that can repeat another: headings and cells often are alike."""
_ALIKE = 0.9
"""The share of their words that two passages have in common."""


class Shown:
    """The passages that were shown."""

    def __init__(self) -> None:
        self._shown: list[tuple[frozenset[str], list[str]]] = []

    def is_new(self, text: str) -> bool:
        """Return whether no passage with almost the same words was shown; it counts as shown.

        Other numbers make another passage: the fees of two years differ in nothing else.
        """
        words = _WORD.findall(text.casefold())
        distinct, numbers = frozenset(words), sorted(filter(str.isdigit, words))
        if len(distinct) < _FEW:
            return True
        for others, other_numbers in self._shown:
            common = len(distinct & others)
            if numbers == other_numbers and common >= _ALIKE * len(distinct | others):
                return False
        self._shown.append((distinct, numbers))
        return True
