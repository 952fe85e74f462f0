"""Measures how deep the elements of a page nest, before a parser reads it.

The time of HTML's algorithm grows with the square of the depth: 300 kB of nested tables take
minutes.
"""

import re
from collections import Counter
from itertools import islice

MAX_DEPTH = 512
"""Elements in each other, as browsers limit them."""
# A comment or a script that does not end reaches to the end of the page.
_TAG = re.compile(
    r"<!--(?:-?>|.*?--!?>|.*)"
    r"|<(script|style)\b(?:.*?</\1|.*)"
    r"|<(/?)([a-z][^\s/>]*)",
    re.IGNORECASE | re.DOTALL,
)
_ENDED_BY_OTHERS = frozenset({
    "a", "area", "base", "body", "br", "caption", "col", "colgroup", "dd", "dt", "embed", "head",
    "hr", "html", "img", "input", "li", "link", "meta", "nobr", "optgroup", "option", "p", "param",
    "rp", "rt", "source", "tbody", "td", "tfoot", "th", "thead", "tr", "track", "wbr",
})  # fmt: skip
"""Elements without content or whose end tag authors may leave out: they do not count."""
_FORMATTING = frozenset({
    "b", "big", "code", "em", "font", "i", "s", "small", "strike", "strong", "tt", "u",
})  # fmt: skip
"""Elements whose end does not end those that they contain."""
_BARRIERS = frozenset({"applet", "marquee", "object", "table", "template"})
"""Elements that no other element's end tag ends."""


def exceeds_depth(text: str, depth: int = MAX_DEPTH) -> bool:
    """Return whether elements of a page nest deeper than `depth`. Takes linear time."""
    elements: list[str] = []
    counts: Counter[str] = Counter()
    for match in _TAG.finditer(text):
        name = (match[3] or "").lower()
        if not name or name in _ENDED_BY_OTHERS:
            continue
        if not match[2]:
            elements.append(name)
            counts[name] += 1
            if len(elements) > depth:
                return True
        elif counts[name]:
            _end(name, elements, counts)
    return False


def _end(name: str, elements: list[str], counts: Counter[str]) -> None:
    """Remove the innermost element of a name, and those that end with it."""
    place = next(at for at in reversed(range(len(elements))) if elements[at] == name)
    if name not in _BARRIERS and not _BARRIERS.isdisjoint(islice(elements, place, None)):
        return
    ended = elements[place : place + 1] if name in _FORMATTING else elements[place:]
    del elements[place : place + len(ended)]
    counts.subtract(ended)
