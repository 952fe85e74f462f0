"""Fills a prompt template in one pass.

Only the template is searched for names. Inserted text (the user's words, the output of a tool) is
copied unchanged, so it cannot refer to another slot or lose its own braces.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache

USER_INPUT = "user_input"
_BLANK_LINES = 4
"""Characters around each inserted text."""
# A name has a letter: `{0}` and `{1,2}` belong to format strings and regular expressions.
_NAME = re.compile(r"\{((?=[0-9_]*[A-Za-z])[A-Za-z0-9_]{1,63})\}")


def render(template: str, slots: Mapping[str, str]) -> str:
    """Return `template` with its names replaced.

    A name is replaced by its text between two blank lines, or removed if it has no text.
    Everything else stays unchanged.
    """
    return _NAME.sub(lambda match: _between_blank_lines(slots.get(match[1], "")), template)


def rendered_spans(template: str, slots: Mapping[str, str]) -> Iterator[tuple[str, int, int]]:
    """Yield each name that has a text, and where the text begins and ends in what `render` returns.

    Blank lines around the text are outside.
    """
    moved = 0
    for match in _NAME.finditer(template):
        text = slots.get(match[1], "")
        start = match.start() + moved + _BLANK_LINES // 2
        if text:
            yield match[1], start, start + len(text)
        moved += len(_between_blank_lines(text)) - len(match[0])


def rendered_length(template: str, slots: Mapping[str, str]) -> int:
    """Return the number of characters that `render` returns, without rendering.

    A template may repeat a name tens of thousands of times, so the result can be very much larger
    than the template and the texts together.
    """
    literal, counts = _occurrences(template)
    return literal + sum(
        count * (len(text) + _BLANK_LINES)
        for name, count in counts.items()
        if (text := slots.get(name, ""))
    )


@lru_cache(maxsize=128)  # every run of an assistant needs them
def _occurrences(template: str) -> tuple[int, Counter[str]]:
    """Return the number of characters outside of names, and how often each name occurs."""
    counts = Counter(names(template))
    inside = sum(count * (len(name) + len("{}")) for name, count in counts.items())
    return len(template) - inside, counts


def occurrences(template: str) -> Iterator[tuple[str, int, int]]:
    """Yield each name that `template` contains, and where it begins and ends with its braces."""
    return ((match[1], match.start(), match.end()) for match in _NAME.finditer(template))


def names(template: str) -> list[str]:
    """Return the names that `template` contains, in order."""
    return [name for name, _, _ in occurrences(template)]


def _between_blank_lines(text: str) -> str:
    return f"\n\n{text}\n\n" if text else ""
